"""An application shows itself by logs without secrets, metrics, panels, and checks of its machine.

    from ostinato import App, observe
    from ostinato.observe import Figures, Gauge, Recorder

    log = observe.get_logger("billing")
    log.info("invoice_sent", invoice=7)

    UNPAID = Gauge("ostinato_billing_unpaid", "Invoices that nobody has paid.")

    async def record(conn) -> Recorder:
        recorder = Recorder()
        recorder.set(UNPAID, await count_unpaid(conn))
        return recorder

    FIGURES = Figures((UNPAID,), record)
    app = App("billing", metrics="acme.billing.metrics:FIGURES")

The guide is `docs/observability.md`.
"""

from ostinato._core.base.dashboard import Row, dashboard
from ostinato._core.base.log import FilteringBoundLogger, bound, configure, get_logger
from ostinato._core.base.metrics import (
    ENGINE_GAUGES,
    QUEUE_DEAD,
    QUEUE_DONE,
    QUEUE_FAILED,
    QUEUE_P50,
    QUEUE_P95,
    QUEUE_P99,
    QUEUE_READY,
    QUEUE_STARTED,
    Counter,
    Gauge,
    Histogram,
    Metric,
    Recorder,
)
from ostinato._core.base.prometheus import Collector
from ostinato._core.base.redact import MASK, redact, redact_value
from ostinato._core.engine.series import QueueRate, Step, list_series, queue_rates
from ostinato._core.runtime.observe.blocks import (
    N_,
    Action,
    Actions,
    Block,
    Calendar,
    Card,
    Cell,
    Chart,
    Counts,
    Download,
    Entry,
    Facts,
    Field,
    Form,
    Gallery,
    Item,
    Link,
    Moment,
    Note,
    Picture,
    Pictures,
    Prose,
    State,
    Table,
    Timeline,
    Tone,
)
from ostinato._core.runtime.observe.checkup import Checkup, Trouble
from ostinato._core.runtime.observe.figures import Figures
from ostinato._core.runtime.observe.panels import File, Look, Panel, Verb

__all__ = [
    "ENGINE_GAUGES",
    "MASK",
    "N_",
    "QUEUE_DEAD",
    "QUEUE_DONE",
    "QUEUE_FAILED",
    "QUEUE_P50",
    "QUEUE_P95",
    "QUEUE_P99",
    "QUEUE_READY",
    "QUEUE_STARTED",
    "Action",
    "Actions",
    "Block",
    "Calendar",
    "Card",
    "Cell",
    "Chart",
    "Checkup",
    "Collector",
    "Counter",
    "Counts",
    "Download",
    "Entry",
    "Facts",
    "Field",
    "Figures",
    "File",
    "FilteringBoundLogger",
    "Form",
    "Gallery",
    "Gauge",
    "Histogram",
    "Item",
    "Link",
    "Look",
    "Metric",
    "Moment",
    "Note",
    "Panel",
    "Picture",
    "Pictures",
    "Prose",
    "QueueRate",
    "Recorder",
    "Row",
    "State",
    "Step",
    "Table",
    "Timeline",
    "Tone",
    "Trouble",
    "Verb",
    "bound",
    "configure",
    "dashboard",
    "get_logger",
    "list_series",
    "queue_rates",
    "redact",
    "redact_value",
]
