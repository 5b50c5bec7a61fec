"""Reads and writes values as people do: spans of time, ages, rates, arguments."""

import json
import re
from collections.abc import Collection
from datetime import datetime, timedelta

from rich.text import Text

from ostinato._core.base.errors import InvalidInput
from ostinato._core.engine.inspect import QueueSummary
from ostinato._core.engine.queues import Rate
from ostinato._faces.cli.frame.document import Raw

UNITS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}
SPAN = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(s|m|min|h|d)?")
MOST = 2**31 - 1
COLOURS = {
    "scheduled": "blue",
    "ready": "cyan",
    "running": "yellow",
    "done": "green",
    "cancelled": "dim",
    "dead": "red",
}
NONE = "none"


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: 1 job, 2 jobs."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def span(length: float) -> str:
    """Return a length of time, in its two largest units."""
    whole = int(length)
    if length < 10:  # noqa: PLR2004 - below ten a tenth matters
        return f"{length:.1f} s"
    if whole < 60:  # noqa: PLR2004 - a minute
        return f"{whole} s"
    if whole < 3600:  # noqa: PLR2004 - an hour
        return f"{whole // 60} min {whole % 60} s"
    if whole < 86_400:  # noqa: PLR2004 - a day
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86_400} d {whole % 86_400 // 3600} h"


def age(at: datetime | None, now: datetime) -> str:
    """Return how long ago something was, or in how long it will be."""
    if at is None:
        return ""
    passed = (now - at).total_seconds()
    return f"{span(passed)} ago" if passed >= 0 else f"in {span(-passed)}"


def state(name: str | None) -> Text:
    """Return the state of a job in its colour."""
    return Text(name or "", style=COLOURS.get(name or "", ""))


def limits(queue: QueueSummary) -> str:
    """Return the limits of a queue in one line."""
    parts = []
    for concurrency, count, window, whose in (
        (queue.concurrency, queue.rate_count, queue.rate_seconds, ""),
        (queue.key_concurrency, queue.key_rate_count, queue.key_rate_seconds, " per key"),
    ):
        if concurrency is not None:
            parts.append(f"{concurrency} at once{whose}")
        if count is not None and window is not None:
            parts.append(f"{count} in {span(window)}{whose}")
    return ", ".join(parts)


def seconds(text: str, what: str) -> float:
    """Return a length of time from the command line: 90, 90s, 5m, 2h, 1d."""
    found = SPAN.fullmatch(text.strip())
    if found is None:
        raise InvalidInput(f"{what}: {text!r} is no length of time", hint="Write 90, 5m, 2h or 1d.")
    return float(found[1]) * UNITS[found[2] or "s"]


def moment(text: str, what: str) -> datetime:
    """Return a point in time from the command line, in ISO 8601 with its zone."""
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InvalidInput(f"{what}: {text!r} is no time", hint="Write it as 2026-03-01T09:00:00Z.") from None
    if at.tzinfo is None:
        raise InvalidInput(f"{what}: {text!r} has no zone", hint=f"Write {text}Z or {text}+01:00.")
    return at


def past(text: str, what: str, now: datetime) -> datetime:
    """Return a point in time from the command line: in ISO 8601, or as a length of time before now."""
    if SPAN.fullmatch(text.strip()):
        return now - timedelta(seconds=seconds(text, what))
    return moment(text, what)


def limit(text: str, what: str) -> int | None:
    """Return a limit from the command line: a number from 1 on, or `none`."""
    if text == NONE:
        return None
    if not text.isdecimal() or not 1 <= int(text) <= MOST:
        hint = f"Write a number from 1 to {MOST:,}, or {NONE}."
        raise InvalidInput(f"{what}: {text!r} is no limit", hint=hint)
    return int(text)


def rate(text: str, what: str) -> Rate | None:
    """Return a rate from the command line: 100/m, 5/s, 10/90s, or `none`."""
    if text == NONE:
        return None
    count, slash, window = text.partition("/")
    length = UNITS.get(window.strip())
    if slash and count.strip().isdecimal() and length is None and SPAN.fullmatch(window.strip()):
        length = seconds(window, what)
    if not length or not count.strip().isdecimal() or not 1 <= int(count) <= MOST:
        hint = f"Write 100/m, 5/s, 10/90s, or {NONE}."
        raise InvalidInput(f"{what}: {text!r} is no rate", hint=hint)
    return Rate(int(count), length)


def named_args(words: list[str], *, texts: Collection[str] = ()) -> Raw:
    """Return a job's arguments from the command line: one JSON object, or name=value pairs.

    Numbers keep every digit: the text of a value is passed on as it was written. The values of
    `texts` are text, whatever they read as.
    """
    if len(words) == 1 and words[0].lstrip().startswith(("{", "[")):
        try:
            _loaded(words[0])
        except ValueError as error:
            hint = "Quote it for the shell: '{\"invoice_id\": 7}'."
            raise InvalidInput(f"the arguments are not JSON: {error}", hint=hint) from None
        return Raw(words[0])
    pairs: dict[str, str] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name or name in pairs:
            twice = f"{name!r} is given twice" if name in pairs else f"{word!r} is no argument"
            hint = "Write name=value pairs, or one JSON object."
            raise InvalidInput(twice, hint=hint)
        pairs[name] = text if name not in texts and _is_json(text) else json.dumps(text, ensure_ascii=False)
    inner = ", ".join(f"{json.dumps(name, ensure_ascii=False)}: {pairs[name]}" for name in pairs)
    return Raw(f"{{{inner}}}")


def _is_json(text: str) -> bool:
    try:
        _loaded(text)
    except ValueError:
        return False
    return True


def _loaded(text: str) -> object:
    return json.loads(text, parse_constant=_refuse)


def _refuse(name: str) -> object:
    raise ValueError(f"{name} is not JSON")
