"""Outbound without the limits of its queues: the rate of a number at its provider is not what is measured.

Only the worker of `bench.outbound` imports it, because the application of the whole process is changed.
"""

from ostinato.apps.outbound import APP

__all__ = ["APP"]

APP.queues = ()
