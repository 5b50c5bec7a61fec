"""Answers that are stored and returned again to a repeated request."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ostinato._core.base.errors import InvalidInput
from ostinato._core.base.jsonio import dump_args

MAX_ANSWER_BYTES = 262_144


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer that is stored and returned again byte by byte."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return the answer as it is stored: readable, unless its body is not text."""
        try:
            text = None if b"\0" in self.body else self.body.decode()
        except UnicodeDecodeError:
            text = None
        body = {"base64": base64.b64encode(self.body).decode()} if text is None else text
        return {"status": self.status, "headers": [list(h) for h in self.headers], "body": body}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Answer":
        """Return the answer from what was stored."""
        body = stored["body"]
        raw = body.encode() if isinstance(body, str) else base64.b64decode(body["base64"])
        return cls(stored["status"], raw, tuple((name, value) for name, value in stored["headers"]))


def dump_answer(answer: object) -> str | None:
    """Return an answer as JSON text that PostgreSQL can store, None for none."""
    value = answer.to_json() if isinstance(answer, Answer) else answer
    if value is None:
        return None
    try:
        return dump_args(value, MAX_ANSWER_BYTES)
    except InvalidInput as error:
        raise InvalidInput(
            f"the answer cannot be stored: {error.message.replace('args', 'it', 1)}",
            hint="Answer with JSON-like data, or store it yourself and its key as the resource.",
        ) from None
