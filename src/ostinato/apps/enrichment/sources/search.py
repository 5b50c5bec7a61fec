"""API Recherche d'entreprises: an index of what others register, without a key.

    GET /search?q={siren}&minimal=true&include=…        at most 7 calls a second from one address

The required source: it knows every company, and is asked first.
"""

from collections.abc import Iterator
from types import MappingProxyType
from typing import Final

from ostinato.apps.enrichment.labels import COUNTRIES, LEGAL_FORMS, NAF
from ostinato.apps.enrichment.model import ErrorCode, SourceApi
from ostinato.apps.enrichment.sources.reading import PARTIAL, Director, Json, at, director, listed, text, words
from ostinato.apps.enrichment.sources.source import More, Pace, Source
from ostinato.apps.enrichment.wire import Reply, Wire
from ostinato.settings import Section, section, setting

INCLUDED: Final = "siege,complements,finances,score"
DIRECTORS: Final = "dirigeants,matching_etablissements"
ESTABLISHMENT: Final = "matching_etablissements"
"""What it is asked to include: always, in a second call, and of a SIRET."""


@section("enrichment")
class SearchSettings(Section):
    """The settings of API Recherche d'entreprises."""

    search_url: str = setting("https://recherche-entreprises.api.gouv.fr", "API Recherche d'entreprises.")
    search_api_key: str = setting("", "A key of API Recherche d'entreprises; it needs none today.")
    search_per_second: float = setting(6.0, "Calls to it, at most; it allows 7 for an address.", low=0.01, high=100_000)
    search_directors: bool = setting(
        default=False, description="Whether a second call asks the search for directors, too."
    )


class Search(Source):
    """API Recherche d'entreprises."""

    api = SourceApi.SEARCH
    doc_type = "ENTERPRISE_SEARCH"
    codes = MappingProxyType({404: ErrorCode.INTERNAL_ERROR})  # it has no 404 for companies: a wrong route
    is_register = False

    def pace(self, settings: SearchSettings) -> Pace:
        return Pace(settings.search_per_second)

    async def ask(self, wire: Wire, siren: str, *, probe: bool) -> Reply:  # noqa: ARG002 - any call is one
        return await self._search(wire, siren, INCLUDED)

    def about(self, payload: Json) -> str | None:
        return text(payload, "results", 0, "siren")

    def fields(self, payload: Json) -> dict[str, str | None]:
        unit = at(payload, "results", 0)
        siege = at(unit, "siege")
        abroad = text(siege, "libelle_pays_etranger")
        form, activity = text(unit, "nature_juridique"), text(unit, "activite_principale")
        place = any(text(siege, name) for name in ("code_postal", "libelle_commune", "commune"))
        return {
            "legal_name": text(unit, "nom_raison_sociale") or text(unit, "nom_complet"),
            "trade_name": text(unit, "nom_complet"),
            "brand_name": text(unit, "sigle"),
            "legal_form_code": form,
            "legal_form": LEGAL_FORMS.get(form or ""),
            "creation_date": text(unit, "date_creation"),
            "active_status": text(unit, "etat_administratif"),
            "address_line1": text(siege, "adresse"),
            "address_line2": text(siege, "complement_adresse"),
            "postal_code": text(siege, "code_postal"),
            "city": text(siege, "libelle_commune") or text(siege, "libelle_commune_etranger"),
            "country_code": COUNTRIES.get(abroad.upper()) if abroad else ("FR" if place else None),
            "naf_code": activity,
            "naf_label": NAF.get(activity or ""),
            "headcount_range": text(unit, "tranche_effectif_salarie"),
        }

    def directors(self, payload: Json) -> Iterator[Director]:
        for one in listed(payload, "results", 0, "dirigeants"):
            name = text(one, "denomination") or words([text(one, "prenoms"), text(one, "nom")])
            kind = text(one, "type_dirigeant") or ""
            yield director(name, text(one, "qualite"), kind, text(one, "siren"))

    def withholds(self, payload: Json) -> bool:
        return text(payload, "results", 0, "statut_diffusion") == PARTIAL

    def asks_more(self, settings: SearchSettings) -> bool:
        """Ask for more where it is wanted (`Source.asks_more`): directors are personal data."""
        return settings.search_directors

    async def ask_more(self, wire: Wire, siren: str) -> Reply:
        return await self._search(wire, siren, DIRECTORS)

    def more(self, payload: Json) -> More | None:
        found = at(payload, "results", 0, "dirigeants")
        return More(["results", "0", "dirigeants"], found) if isinstance(found, list) else None

    async def _search(self, wire: Wire, number: str, include: str) -> Reply:
        settings = wire.settings
        key = settings.search_api_key
        # By SIREN also when the request has a SIRET: the company is what is shared and kept.
        asked = {"q": number, "minimal": "true", "include": include, "page": "1", "per_page": "1"}
        return await wire.get(
            self.api,
            f"{settings.search_url.rstrip('/')}/search",
            {"Authorization": f"Bearer {key}"} if key else None,
            asked,
        )


class EstablishmentSearch(Search):
    """API Recherche d'entreprises, asked whether there is an establishment: by its SIRET."""

    async def ask(self, wire: Wire, siren: str, *, probe: bool) -> Reply:  # noqa: ARG002 - as above
        return await self._search(wire, siren, ESTABLISHMENT)

    def about(self, payload: Json) -> str | None:
        return text(payload, "results", 0, "matching_etablissements", 0, "siret")
