"""An alert names a value that the engine watches, the limit from which it is wrong, and what to do then.

    from ostinato import App
    from ostinato.alerts import Alert

    app = App("billing")
    app.alert(
        Alert(
            "billing.unpaid",
            function="billing.unpaid_invoices",         # an SQL function of yours
            above=100,
            for_seconds=300,
            message="{value} invoices of {label} are unpaid",
            remedy="Look at the list of debtors.",
        )
    )

An alert that fires and one that is resolved are events (`FIRED`, `RESOLVED`), so a subscription or
a webhook carries them to people. The same declarations become rules for Prometheus. The guide is
`docs/alerts.md`.
"""

from ostinato._core.base.alerts import FIRED, RESOLVED, SEVERITIES, Alert, Parameter, Severity
from ostinato._core.engine.alerts import AlertLine, Change, Firing, evaluate, firings, list_alerts, show

__all__ = [
    "FIRED",
    "RESOLVED",
    "SEVERITIES",
    "Alert",
    "AlertLine",
    "Change",
    "Firing",
    "Parameter",
    "Severity",
    "evaluate",
    "firings",
    "list_alerts",
    "show",
]
