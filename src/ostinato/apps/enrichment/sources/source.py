"""A source is one file beside this one: how it is asked, what its answers mean, its settings.

`Source` is what the pipeline knows of it; `sources/__init__.py` lists those that there are. What is
the same for all (whose turn it is, retries, the breaker, what is kept) is in `fetch.py`.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

import httpx

from ostinato.apps.enrichment.model import ErrorCode, SourceApi
from ostinato.apps.enrichment.rules import error_of_status
from ostinato.apps.enrichment.sources.reading import Director, Json
from ostinato.apps.enrichment.wire import Reply, Wire

if TYPE_CHECKING:
    from ostinato.apps.enrichment.settings import EnrichmentSettings


class Pace(NamedTuple):
    """How often a source may be called, by all workers together."""

    per_second: float
    per_day: int | None = None


class More(NamedTuple):
    """What a second call adds to the answer of the first, and where."""

    path: list[str]
    value: Json


class Source(Protocol):
    """One official source."""

    api: ClassVar[SourceApi]
    doc_type: ClassVar[str]
    """What its answers are kept as."""
    credentials: ClassVar[tuple[str, ...]] = ()
    """The settings without which it is not part of the pipeline."""
    volatile: ClassVar[frozenset[str]] = frozenset()
    """Fields of its answers that change from call to call."""
    codes: ClassVar[Mapping[int, ErrorCode]] = {}
    """HTTP statuses that mean something else here than elsewhere."""
    is_register: ClassVar[bool] = True
    """Whether it keeps the register itself; its directors are named before those of an index."""

    def pace(self, settings: "EnrichmentSettings") -> Pace:
        """Return how often it may be called."""

    async def ask(self, wire: Wire, siren: str, *, probe: bool) -> Reply:
        """Call it about a company; `probe`: it was paused, and this is the first call since."""

    def about(self, payload: Json) -> str | None:
        """Return the SIREN that an answer is about; None: about none."""

    def fields(self, payload: Json) -> dict[str, str | None]:
        """Return what an answer says, as the fields of ours."""

    def directors(self, payload: Json) -> Iterator[Director]:
        """Yield the directors that an answer names."""

    def withholds(self, payload: Json) -> bool:  # noqa: ARG002 - most have no word for it
        """Return whether an answer says that the company's data is not for everybody."""
        return False

    def error_code(self, status: int, code: str | None) -> ErrorCode:  # noqa: ARG002 - some look at it
        """Return the canonical code of an HTTP status that is no success, and of a code in the body."""
        return error_of_status(status, self.codes)

    def asks_more(self, settings: "EnrichmentSettings") -> bool:  # noqa: ARG002 - most do not
        """Return whether a second call asks for more."""
        return False

    async def ask_more(self, wire: Wire, siren: str) -> Reply:
        """Call it a second time."""
        return await self.ask(wire, siren, probe=False)

    def more(self, payload: Json) -> More | None:  # noqa: ARG002 - as above
        """Return what the answer of the second call adds to the first one; None if it adds nothing."""
        return None

    def missing(self, settings: "EnrichmentSettings") -> str | None:
        """Return which credentials are missing, as a sentence; None if the source can be called."""
        if all(getattr(settings, name) for name in self.credentials):
            return None
        return f"{' or '.join(self.credentials)} is not set"

    async def try_credentials(self, http: httpx.AsyncClient, settings: "EnrichmentSettings") -> int | None:  # noqa: ARG002
        """Return the status of a call that needs the credentials and costs nothing; None: it needs none."""
        return None
