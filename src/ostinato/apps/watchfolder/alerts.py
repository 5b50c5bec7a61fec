"""Declares the alerts of watched folders: silent, in trouble, failing, or with twins nobody decides about."""

from ostinato.alerts import Alert

ALERTS = (
    Alert(
        "watchfolder.silent",
        function="watchfolder.folder_silence",
        above=300,
        severity="critical",
        message="the folder {label} has not been watched for {value} s",
        remedy="Start a worker for the queue `watchfolder` on the machine that has the folder; `ostinato why JOB`.",
    ),
    Alert(
        "watchfolder.problem",
        function="watchfolder.folder_problems",
        above=0,
        for_seconds=300,
        message="the folder {label} has had a problem for five minutes",
        remedy="Its `problem` (GET /api/v1/watchfolder/folders) says which: a service, the disk, a file in in/.",
    ),
    Alert(
        "watchfolder.failing",
        function="watchfolder.failure_rates",
        parameters={"period": "1 hour"},
        above=0.5,
        clear=0.2,
        message="of the files of {label} that ended in the last {period}, {value} failed",
        remedy="`error.json` in error/ says why for each; `cause` in the list of jobs says the same.",
    ),
    Alert(
        "watchfolder.held",
        function="watchfolder.days_held",
        above=7,
        severity="info",
        message="a file that came twice has waited in {label} for {value} days",
        remedy="Decide: POST …/duplicates/JOBKEY/decision, or `ostinato decide`.",
    ),
)
