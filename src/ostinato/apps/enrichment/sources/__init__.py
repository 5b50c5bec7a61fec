"""Lists the official sources, in the order in which they are called (M3C-pipeline-6).

A new source is a file beside this one with a class that is a `Source`, and a row in both lists
here; docs/apps/enrichment.md says what the contract and the database add to that.
"""

from collections.abc import Mapping
from typing import Final

from ostinato.apps.enrichment.model import SourceApi
from ostinato.apps.enrichment.sources.inpi import Inpi, InpiSettings
from ostinato.apps.enrichment.sources.rcs import Rcs, RcsSettings
from ostinato.apps.enrichment.sources.search import Search, SearchSettings
from ostinato.apps.enrichment.sources.source import Source
from ostinato.settings import section

__all__ = ["SOURCES", "Source", "SourceSettings"]

_ROWS: Final[tuple[Source, ...]] = (Search(), Inpi(), Rcs())


@section("enrichment")
class SourceSettings(RcsSettings, InpiSettings, SearchSettings):
    """The settings of all sources; the reference lists the last one first, as Python does."""


SOURCES: Final[Mapping[SourceApi, Source]] = {source.api: source for source in _ROWS}
