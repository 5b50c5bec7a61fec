"""Words that come from the data, such as states, so that the catalogues have them.

Templates translate them by their value; here they are only named, because a tool that collects
messages cannot see values.
"""

from collections.abc import Sequence


def N_(text: str) -> str:  # noqa: N802 - the name that tools look for
    """Mark a text to be translated where it is shown."""
    return text


STATES: Sequence[str] = (
    *(N_("ready"), N_("scheduled"), N_("running"), N_("done"), N_("dead"), N_("cancelled"), N_("failed")),
    *(N_("lost"), N_("deferred"), N_("snoozed"), N_("slept"), N_("waiting"), N_("released")),
    *(N_("firing"), N_("pending"), N_("resolved"), N_("failing"), N_("ok"), N_("new")),
    *(N_("held"), N_("late"), N_("expired"), N_("over"), N_("active"), N_("paused"), N_("disabled"), N_("revoked")),
    *(
        N_("delivered"),
        N_("refused"),
        N_("emitted"),
        N_("enqueued"),
        N_("kept"),
        N_("fired"),
        N_("buried"),
        N_("recorded"),
    ),
)
LOOKS: Sequence[str] = (
    *(N_("nobody serves it"), N_("at its limit"), N_("flowing"), N_("quiet"), N_("silent"), N_("draining")),
    *(N_("waits for its retry"), N_("waits for an event"), N_("sleeps")),
    *(N_("alive"), N_("broken"), N_("on"), N_("gave up some"), N_("behind"), N_("refuses")),
)
FIELDS: Sequence[str] = (
    *(N_("kind"), N_("queue"), N_("tenant"), N_("state"), N_("correlation"), N_("signature"), N_("since"), N_("until")),
    N_("args"),
)
CHARTS: Sequence[str] = (N_("Started and done a minute, last hour"), N_("Started and done a second, last hour"))
ALERTS: Sequence[str] = (N_("acknowledged"), N_("silenced"))
ACTORS: Sequence[str] = (N_("user"), N_("operator"), N_("login"))
HIDDEN: Sequence[str] = (N_("Arguments"), N_("Result"), N_("Payload"))
SEVERITIES: Sequence[str] = (N_("info"), N_("warning"), N_("critical"))
SOURCES: Sequence[str] = (
    *(N_("job"), N_("attempt"), N_("step"), N_("wait"), N_("lease"), N_("fire"), N_("event"), N_("delivery")),
    *(N_("webhook"), N_("callback"), N_("transition"), N_("action")),
)
REASONS: Sequence[str] = (
    *(N_("attempts_used_up"), N_("permanent_error"), N_("worker_lost"), N_("timeout"), N_("later"), N_("retry")),
    *(N_("snooze"), N_("sleep"), N_("event"), N_("last"), N_("all"), N_("none")),
)
TITLES: Sequence[str] = (
    *(N_("Applications"), N_("Installation")),
    *(N_("Not found"), N_("Invalid input"), N_("Forbidden"), N_("Unauthenticated"), N_("Wrong state")),
    *(N_("Method refused"), N_("Request refused"), N_("Too many requests"), N_("Database unavailable")),
    *(N_("Conflict"), N_("Unique conflict"), N_("Internal error"), N_("No answer")),
)
