"""What the tests of webhooks arrange: endpoints, events on their way, attempts at them."""

import itertools
from dataclasses import dataclass
from typing import Any

from tests.sql.engine import Row, Session

URL = "https://shop.example.com/hooks"


_numbers = itertools.count(1)


def sealed() -> str:
    """A text of the form that clients store; nothing in SQL can open one."""
    return f"ost1:0badcafe:{next(_numbers):04}"


@dataclass(slots=True)
class Hooks:
    """The verbs of webhooks on one session."""

    db: Session

    def endpoint(self, name: str = "orders", url: str = URL, **params: Any) -> tuple[int, str]:  # noqa: ANN401
        """An endpoint and its secret, as a client would have sealed it."""
        given = {"secret": sealed(), "secret_hint": "abcd"} | params
        return self.db.get("create_webhook_endpoint", name=name, url=url, **given), given["secret"]

    def rotate(self, **params: Any) -> str:  # noqa: ANN401
        secret: str = params.pop("secret", None) or sealed()
        self.db.call("rotate_webhook_secret", name="orders", secret=secret, secret_hint=secret[-4:], **params)
        return secret

    def emit(
        self,
        type_: str = "order.paid",
        payload: str = "{}",
        key: str | None = None,
        tenant: str = "default",
        producer: str = "shop",
    ) -> str:
        event_id = self.db.value(
            "select ostinato.emit_event(type => %s, payload => %s::json, ordering_key => %s,"
            " tenant_id => %s, correlation_id => 'request-1', occurred_at => ostinato.now(),"
            " producer => %s)",
            type_,
            payload,
            key,
            tenant,
            producer,
        )
        return str(event_id)

    def fan_out(self, most: int = 1000) -> Row:
        """Give the events their positions, and hand them to the endpoints."""
        self.db.call("sequence_events")
        (row,) = self.db.call("fan_out_webhooks", most=most)
        return row

    def told(self, *keys: str | None, **params: Any) -> list[str]:  # noqa: ANN401
        """Events that were emitted and fanned out."""
        ids = [self.emit(key=key, **params) for key in keys or (None,)]
        self.fan_out()
        return ids

    def deliveries(self, name: str = "orders", **params: Any) -> list[Row]:  # noqa: ANN401
        """Oldest first."""
        return self.db.call("list_webhook_deliveries", name=name, **params)[::-1]

    def states(self, name: str = "orders") -> list[str]:
        return [row["state"] for row in self.deliveries(name)]

    def start(self, delivery: Row) -> Row:
        (row,) = self.db.call("start_webhook_delivery", delivery_id=delivery["delivery_id"], job_id=delivery["job_id"])
        return row

    def settle(
        self, delivery: Row, outcome: str = "delivered", status: int | None = 200, retry: float | None = None
    ) -> str:
        verdict = self.db.get(
            "settle_webhook_delivery",
            delivery_id=delivery["delivery_id"],
            job_id=delivery["job_id"],
            outcome=outcome,
            status=status,
            duration_ms=7,
            answer="an answer",
            error=None if outcome == "delivered" else f"answered {status}",
            retry_seconds=retry,
        )
        return str(verdict)

    def fail(self, delivery: Row, retry: float | None = 5) -> str:
        return self.settle(delivery, "failed", 500, retry)

    def show(self, name: str = "orders", **params: Any) -> Row:  # noqa: ANN401
        (row,) = self.db.call("list_webhook_endpoints", name=name, **params)
        return row
