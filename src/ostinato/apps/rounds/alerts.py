"""Declares the alerts of rounds: a silent job, many failures, late openings."""

from ostinato.alerts import Alert

STALLED = Alert(
    "rounds.stalled",
    function="rounds.job_silence",
    above=3600,
    severity="critical",
    message="job {label} of rounds has not come to its end for {value} s",
    remedy="`ostinato schedules list` shows if it fires, `ostinato why JOB` what it waits for.",
)
FAILING = Alert(
    "rounds.failing",
    function="rounds.failure_rates",
    parameters={"period": "1 hour"},
    above=0.1,
    clear=0.05,
    severity="critical",
    message="job {label} of rounds failed for {value} of its groups, or runs, in the last {period}",
    remedy="The log lines `group_failed` and `run_failed`, and the table rounds.failures, say why.",
)
LATE = Alert(
    "rounds.late",
    function="rounds.opening_lateness",
    parameters={"period": "30 minutes"},
    above=300,
    severity="critical",
    message="a round opened, or still waits to be, {value} s after its time",
    remedy="Start workers for the queue `rounds`; `ostinato queues list` shows how it is served.",
)
ALERTS = (STALLED, FAILING, LATE)
