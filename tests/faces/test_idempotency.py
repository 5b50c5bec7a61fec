"""`ostinato idempotency list`: the keys of requests that may come twice."""

from tests.faces.conftest import Place, Shell


def test_the_keys_of_requests_are_listed(shell: Shell, place: Place) -> None:
    begin = "(ostinato.begin_idempotent('pay', %s, repeat('a', 64), tenant_id => 'acme')).decision"
    for key in ("order-7", "order-8"):
        place.call(begin, key)

    (second,) = shell.json("idempotency", "list", "--after", "acme", "pay", "order-7")["keys"]

    assert (second["key"], second["state"]) == ("order-8", "in_flight")
    assert "order-7" in shell("idempotency", "list", "--tenant", "acme", "--scope", "pay")
    assert shell("idempotency", "list", "--prefix", "none").strip() == "No keys are kept."
