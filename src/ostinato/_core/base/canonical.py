"""Writes canonical JSON (RFC 8785), one text for one value, and fingerprints requests with it.

Two requests are the same when their declared fields have the same canonical JSON. Which fields
those are is declared once, as an object, and the declaration has a hash of its own: it is stored
beside a fingerprint, so that a changed declaration is seen and not mistaken for a changed request.

    INVOICE = Declaration(include=("number", "amount"), exclude=("remark",))
    INVOICE.fingerprint({"number": "…", "amount": "…", "remark": "…"}).value

Unlike `json.dumps`, RFC 8785 sorts keys in the order of UTF-16, writes numbers as JavaScript does
(1.0 is 1, -0.0 is 0), and refuses what other programs may read differently: NaN, integers beyond
2^53, lone surrogates. Unicode is not normalised.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

import rfc8785

from ostinato._core.base.errors import InvalidInput
from ostinato._core.base.jsonio import MAX_DEPTH, Walk

MAX_BYTES = 1_048_576
MAX_FIELDS = 200
MOST_INTEGER = 2**53 - 1
LEAST_EXPONENT = 10**21  # from here on RFC 8785 writes 1e+21
_EXCERPT = 40
_ABSENT = b""  # no JSON is empty text
_BOM = "\ufeff"
_WRITTEN = Walk("", MOST_INTEGER, ("is an integer beyond 2^53, which others round", "Pass it as text."), takes_nul=True)


class Fingerprint(NamedTuple):
    """The hashes by which a request is recognised; nothing of the request can be read from them."""

    value: str
    """SHA-256 of the canonical JSON of the included fields, in hex."""
    fields: Mapping[str, str]
    """SHA-256 of each of them, by name, to name those that differ."""
    declaration: str
    """The hash of the declaration that chose them."""


@dataclass(frozen=True)
class Declaration:
    """Which fields make two requests the same.

    With `include`, exactly those fields count, and a field that is neither included nor excluded
    is refused, so that adding a field to a request needs a decision here. Without it, all fields
    but the excluded count. A field that is absent differs from one that is null.
    """

    include: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    version: int = 1
    """Raise it when fields keep their names and change their meaning."""

    def __post_init__(self) -> None:
        groups: tuple[object, ...] = (self.include or (), self.exclude)
        for group in groups:  # of whatever an untyped caller passed
            if not isinstance(group, tuple) or not all(isinstance(name, str) for name in group):
                raise InvalidInput(
                    f"fields are declared as a tuple of names, got {group!r}",
                    hint='Write include=("number", "amount").',
                )
        both = set(self.include or ()) & set(self.exclude)
        if both or self.include == () or len(self.include or ()) > MAX_FIELDS:
            raise InvalidInput(
                f"a declaration includes 1 to {MAX_FIELDS} fields and excludes others; "
                f"both included and excluded: {sorted(both)}",
                hint="Leave include out to include every field but the excluded.",
            )

    @cached_property
    def hash(self) -> str:
        """The SHA-256 of the declaration itself."""
        include = None if self.include is None else sorted(set(self.include))
        exclude = sorted(set(self.exclude))
        said = {"include": include, "exclude": exclude, "version": self.version}
        return sha256(rfc8785.dumps(said))

    def fingerprint(self, payload: Mapping[str, object]) -> Fingerprint:
        """Compute the fingerprint of a request; InvalidInput if it has no canonical JSON."""
        chosen = self._chosen(payload)
        value = sha256(canonical(chosen))
        names = chosen if self.include is None else self.include
        fields = {name: sha256(canonical(chosen[name]) if name in chosen else _ABSENT) for name in names}
        return Fingerprint(value, fields, self.hash)

    def _chosen(self, payload: Mapping[str, object]) -> dict[str, object]:
        if not isinstance(payload, Mapping):
            raise InvalidInput(
                f"a request is fingerprinted by its fields, got {type(payload).__name__}",
                hint="Pass a mapping of names to values.",
            )
        if self.include is None:
            chosen = {name: payload[name] for name in payload if name not in self.exclude}
        else:
            unknown = [n for n in payload if n not in self.include and n not in self.exclude]
            if unknown:
                raise InvalidInput(
                    f"the declaration says nothing about {', '.join(map(_excerpt, unknown[:10]))}",
                    hint="Include the field, or exclude it if it does not make another request.",
                    fields=[str(name) for name in unknown[:10]],
                )
            chosen = {name: payload[name] for name in self.include if name in payload}
        if len(chosen) > MAX_FIELDS:
            raise InvalidInput(
                f"the request has {len(chosen)} fields, at most {MAX_FIELDS} can be compared",
                hint="Put them into one field, as an object.",
            )
        return chosen


def differing(held: Mapping[str, str], asked: Mapping[str, str]) -> list[str]:
    """Name the fields in which two requests differ, by the hashes of their fields."""
    return sorted(name for name in {*held, *asked} if held.get(name) != asked.get(name))


def canonical(value: object, *, max_bytes: int = MAX_BYTES) -> bytes:
    """Return the value as canonical JSON in UTF-8.

    Raises InvalidInput, naming the place (`$.lines[3].price`), the value and the remedy.
    """
    if fault := _WRITTEN.fault(value):
        raise fault
    text = rfc8785.dumps(value)  # type: ignore[arg-type]  # was just looked through
    if len(text) > max_bytes:
        raise InvalidInput(
            f"the canonical JSON is {len(text):,} bytes, more than the limit of {max_bytes:,}",
            hint="Fingerprint the hash of large content, not the content.",
            size=len(text),
            max_bytes=max_bytes,
        )
    return text


def parse(text: str | bytes, *, max_bytes: int = MAX_BYTES) -> Any:  # noqa: ANN401 - whatever it says
    """Read a value from JSON text strictly: what has no canonical form is refused.

    Duplicate names are refused too, because programs differ in which of them counts.
    """
    size = len(text)
    if size > max_bytes:
        raise InvalidInput(
            f"the JSON is {size:,} long, more than the limit of {max_bytes:,}",
            hint="Send less, or refer to stored content.",
        )
    try:
        decoded = text if isinstance(text, str) else text.decode()
        if decoded.startswith(_BOM):
            raise InvalidInput("the JSON starts with a byte order mark", hint="Leave it out.")
        value = json.loads(
            decoded, parse_int=_whole, parse_constant=_no_constant, object_pairs_hook=_without_duplicates
        )
    except UnicodeDecodeError as error:
        raise InvalidInput(f"the JSON is not UTF-8: {error}", hint="Encode it in UTF-8.") from None
    except RecursionError:
        raise InvalidInput(f"the JSON is nested deeper than {MAX_DEPTH} levels", hint="Flatten it.") from None
    except ValueError as error:
        raise InvalidInput(f"this is not JSON: {error}", hint="Check the syntax.") from None
    if fault := _WRITTEN.fault(value):
        raise fault
    return value


def sha256(data: bytes) -> str:
    """Return the SHA-256 in lower-case hex."""
    return hashlib.sha256(data).hexdigest()


def _without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise InvalidInput(f"an object names {_excerpt(twice)} twice", hint="Send each name once.")
    return found


def _whole(text: str) -> float:
    """Read a whole number; beyond 2^53 as a float, if that is exactly the same number."""
    value = int(text)
    if MOST_INTEGER < abs(value) < LEAST_EXPONENT and rfc8785.dumps(float(value)) == text.encode():
        return float(value)
    return value


def _no_constant(name: str) -> NoReturn:
    raise InvalidInput(f"{name} is not JSON", hint="Send null instead.")


def _excerpt(value: object) -> str:
    text = ascii(value)  # a lone surrogate could not even be printed
    return text if len(text) <= _EXCERPT else text[: _EXCERPT - 1] + "…"
