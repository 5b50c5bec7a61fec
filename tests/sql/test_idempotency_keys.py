"""The keys of requests are listed in pages, and a tenant sees its own."""

from tests.sql.engine import Session, Sessions, Value

PRINT = "a" * 64


def begin(db: Session, key: str, tenant: str = "acme", scope: str = "pay") -> Value:
    return db.call("begin_idempotent", scope=scope, key=key, fingerprint=PRINT, tenant_id=tenant, holder="till")


def keys(db: Session, **params: Value) -> list[tuple[Value, Value, Value]]:
    return [(row["tenant"], row["scope"], row["key"]) for row in db.call("list_idempotency", **params)]


def test_keys_come_in_pages_by_tenant_scope_and_key(db: Session) -> None:
    for tenant, scope, key in [
        ("globex", "pay", "1"),
        ("acme", "ship", "1"),
        ("acme", "pay", "2"),
        ("acme", "pay", "1"),
    ]:
        begin(db, key, tenant, scope)
    whole = [("acme", "pay", "1"), ("acme", "pay", "2"), ("acme", "ship", "1"), ("globex", "pay", "1")]

    paged, last = [], ("", "", "")
    while page := keys(db, after_tenant=last[0], after_scope=last[1], after_key=last[2], most=1):
        paged += page
        last = page[-1]

    assert keys(db) == paged == whole
    assert keys(db, tenant_id="acme", after_scope="pay", after_key="1") == whole[1:3]
    assert keys(db, of_scope="ship") == [whole[2]]
    assert keys(db, prefix="2") == [whole[1]]


def test_a_key_says_how_far_its_request_is_and_not_what_was_asked(db: Session) -> None:
    begin(db, "1")

    (row,) = db.call("list_idempotency")

    assert (row["state"], row["attempt"], row["holder"], row["finished_at"]) == ("in_flight", 1, "till", None)
    assert row["started_at"] < row["until"] < row["expires_at"]
    assert row["fingerprint"] not in {PRINT, ""}


def test_a_tenant_sees_its_own_keys(db: Session, sessions: Sessions) -> None:
    begin(db, "1")
    begin(db, "2", "globex")

    assert keys(sessions.tenant("acme")) == [("acme", "pay", "1")]
    assert keys(sessions.tenant("acme"), tenant_id="globex") == []
