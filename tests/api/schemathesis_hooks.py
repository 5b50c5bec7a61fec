"""What Schemathesis is told about keys: one that was used before is a conflict, and rightly so."""

import re
import uuid
from typing import Any

import schemathesis

KEY = re.compile(r"[\x21-\x7e]{1,200}")


@schemathesis.hook
def before_call(_: schemathesis.HookContext, case: schemathesis.Case, __: Any) -> None:  # noqa: ANN401 - what will be sent
    """Give every request a key of its own, if it has one that is valid."""
    headers = case.headers or {}
    for name, value in list(headers.items()):
        if name.lower() == "idempotency-key" and KEY.fullmatch(str(value)):
            headers[name] = str(uuid.uuid4())
