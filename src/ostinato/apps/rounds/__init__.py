"""Rounds: one round per group and local day, opened and closed at the right local time."""

from ostinato.apps.rounds.app import APP

__all__ = ["APP"]
