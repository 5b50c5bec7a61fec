"""`ostinato series`: what was done over time."""

import json

from tests.faces.conftest import Place, Shell
from tests.sql.test_series import row


def test_what_was_done_is_shown_by_minute_and_by_hour(shell: Shell, place: Place) -> None:
    place.call("ostinato.record_series(%s::jsonb)", json.dumps([row(), row("globex", "app.other", 7)]))

    (minute,) = shell.json("series", "--queue", "mail")["steps"]
    (hour,) = shell.json("series", "--hours", "--since", "1d", "--tenant", "globex")["steps"]

    assert (minute["done"], minute["p99"], hour["done"]) == (10, 0.01, 7)
    assert "10 ms" in shell("series")
    assert shell("series", "--kind", "none").strip() == "Nothing was done in this time."
    shell.fails("series", "--kind", "app.task", "--tenant", "acme")
