"""Rounds: one round per group and local day, opened and closed at the right local time."""

from ostinato.apps.rounds import jobs  # registers kinds, events and schedules
from ostinato.apps.rounds.app import APP

__all__ = ["APP", "jobs"]
