"""Alerts: a value that the engine watches, the limit from which it is wrong, and what to do then.

    app.alert(
        Alert(
            "billing.unpaid",
            function="billing.unpaid_invoices",         # an SQL function of yours
            above=100,
            severity="warning",
            message="{value} invoices are unpaid",
            remedy="Look at the list of debtors.",
        )
    )

An alert that fires and one that is resolved are events (`FIRED`, `RESOLVED`), so a subscription or
a webhook brings them to people. The same declarations become rules for Prometheus.
"""

from ostinato._core.base.alerts import FIRED, RESOLVED, SEVERITIES, Alert, Parameter, Severity
from ostinato._core.engine.alerts import (
    AlertLine,
    Change,
    Firing,
    evaluate,
    firings,
    list_alerts,
    show,
)

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
