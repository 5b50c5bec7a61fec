"""What Schemathesis is told: a key that was used is a conflict, a number beyond 2^53 is refused."""

import re
import uuid
from typing import Any

import schemathesis

KEY = re.compile(r"[\x21-\x7e]{1,200}")
MOST = 2**53 - 1
NOBODYS = 2**52


@schemathesis.hook
def before_call(_: schemathesis.HookContext, case: schemathesis.Case[Any], __: Any) -> None:  # noqa: ANN401 - what will be sent
    """Give every request a key of its own, if it has one that is valid; spare the API key that asks."""
    path: Any = case.path_parameters or {}
    if str(path.get("key_id", "")).isdecimal():
        path["key_id"] = NOBODYS
    headers: Any = case.headers or {}
    for name, value in list(headers.items()):
        if name.lower() == "idempotency-key" and KEY.fullmatch(str(value)):
            headers[name] = str(uuid.uuid4())


@schemathesis.hook
def map_body(_: schemathesis.HookContext, body: Any) -> Any:  # noqa: ANN401 - what will be sent
    """Keep integers within 2^53: no schema can say that more is refused."""
    return _within(body)


def _within(value: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, dict):
        return {name: _within(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_within(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return max(-MOST, min(MOST, value))
    return value
