"""Declares what is watched (rule 7.3): dead letters, failure rate, signatures, and more."""

from typing import Final

from ostinato.alerts import Alert

ALERTS: Final = (
    Alert(
        "outbound.dead_letters",
        function="outbound.dead_letters",
        above=0,
        severity="critical",
        tenant=None,
        message="{label} has {value} messages whose attempts are used up",
        message_one="{label} has {value} message whose attempts are used up",
        remedy="GET /api/v1/outbound/messages?dead=true says why; POST …/retry sends again.",
    ),
    Alert(
        "outbound.failure_rate",
        function="outbound.failure_rates",
        parameters={"minutes": 60, "at_least": 10},
        above=0.3,
        clear=0.2,
        tenant=None,
        message="of the messages of {label} in the last {minutes} minutes {value} failed",
        remedy="GET /api/v1/outbound/metrics lists the codes; see the provider's status page.",
    ),
    Alert(
        "outbound.signature_failures",
        function="outbound.signature_failures",
        parameters={"minutes": 10},
        above=0,
        severity="critical",
        message="{value} callbacks of {label} were refused because of their signature",
        message_one="{value} callback of {label} was refused because of its signature",
        remedy="Compare the secret here with the provider's; if they agree, somebody is trying.",
    ),
    Alert(
        "outbound.queue_size",
        function="outbound.queue_sizes",
        above=1000,
        clear=500,
        for_seconds=300,
        tenant=None,
        message="{value} messages of {label} wait to be sent",
        remedy="`ostinato queues list` and GET /api/v1/outbound/senders say what holds them up.",
    ),
    Alert(
        "outbound.held_senders",
        function="outbound.held_senders",
        above=0,
        tenant=None,
        message="{value} senders of {label} are held because of an error of their provider",
        message_one="{value} sender of {label} is held because of an error of its provider",
        remedy="Fix it at the provider (token, payment, account), then POST …/release.",
    ),
    Alert(
        "outbound.stuck_callbacks",
        function="outbound.stuck_callbacks",
        parameters={"hours": 12},
        above=0,
        message="{value} callbacks of {label} have not been worked through for {hours} hours",
        message_one="{value} callback of {label} has not been worked through for {hours} hours",
        remedy="`ostinato jobs dead --each` says why; redrive them before they are forgotten.",
    ),
    Alert(
        "outbound.unknown_codes",
        function="outbound.unknown_codes",
        parameters={"minutes": 60},
        above=0,
        message="{label}: an error code that the policy table does not know, {value} times",
        message_one="{label}: an error code that the policy table does not know, once",
        remedy="Look it up at the provider and add it to the table; until then it is retried.",
    ),
)
