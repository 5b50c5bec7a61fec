"""Declares the states of a job as a machine, so that it can be drawn as those of applications are.

The place of a job is its state, and the verbs of `sql/functions/claims.sql` and `jobs.sql` move it; no
trigger guards it.
"""

from ostinato._core.base.machine import Machine, Transition

JOB = Machine(
    "job",
    about="A job of the engine, from the transaction that added it to its end.",
    states=("scheduled", "ready", "running", "done", "dead", "cancelled"),
    initial="ready",
    terminal=("done",),
    transitions=(
        Transition("scheduled", "promote", "ready", guard="its time has come"),
        Transition("ready", "claim", "running", guard="a worker has room, and no limit is reached"),
        Transition("running", "complete", "done"),
        Transition("running", "retry_later", "scheduled", guard="it failed, snoozed, sleeps or waits"),
        Transition("running", "rescue", "ready", guard="its worker is gone, or gave it back"),
        Transition("running", "give_up", "dead", guard="attempts used up, a permanent error, or workers lost"),
        Transition(("dead", "cancelled", "scheduled"), "retry", "ready", guard="an operator asks for it"),
        Transition(("ready", "scheduled", "running", "dead"), "cancel", "cancelled"),
    ),
)
