"""Settings are handed down: nothing of an application loads them by itself."""

import re

from tests.house.source import PACKAGE, findings, text_of

LOADS = re.compile(r"\w*Settings\.load\(")
# The stand-ins of the outside world are a process of their own, and what starts them chooses their settings.
STANDS_IN = {"sandbox.py", "standin.py", "demo.py", "sandbox"}


def test_no_handler_or_route_of_an_application_loads_settings() -> None:
    files = [path for path in (PACKAGE / "apps").rglob("*.py") if not STANDS_IN.intersection(path.parts)]

    assert findings(sorted(files), lambda path: LOADS.findall(text_of(path))) == {}
