"""Whether what an application emitted is what it declares: its SQL functions emit too, and no type checks those."""

import json
from collections.abc import Iterable
from typing import Any

from ostinato import App

EMITTED = "select type, payload from ostinato_data.event order by id"


def checked(app: App, emitted: Iterable[tuple[Any, ...]]) -> set[str]:
    """Return the types of some events, by type and payload.

    Each payload has to be exactly what its declared type writes: no field more, and none less.
    """
    kinds = {kind.type.name: kind for kind in app.events}
    found = set()
    for name, payload in emitted:
        assert kinds[name].type.payload is not None, name
        assert json.loads(kinds[name].dump(payload)) == payload, name
        found.add(name)
    return found
