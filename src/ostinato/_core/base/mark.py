"""A variable of the environment marks the processes that a worker's handlers start."""

MARK = "OF_OSTINATO_WORKER"
"""It is no setting: a command of Ostinato that a handler runs would refuse an unknown `OSTINATO_…`.
The embedded server, which outlives the worker that started it, does not get it."""
