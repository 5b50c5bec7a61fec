"""API Entreprise: the extract of the RCS that Infogreffe keeps, for public bodies with a token.

GET /v3/infogreffe/rcs/unites_legales/{siren}/extrait_kbis      250 calls a minute
GET /ping/infogreffe/rcs                                        whether it is up; not counted
"""

import re
from collections.abc import Iterator
from typing import Final

import httpx

from ostinato.apps.enrichment.model import ErrorCode, SourceApi
from ostinato.apps.enrichment.sources.reading import Director, Json, at, director, listed, text, words
from ostinato.apps.enrichment.sources.source import Pace, Source
from ostinato.apps.enrichment.wire import Reply, Wire
from ostinato.errors import SettingsError
from ostinato.settings import Section, section, setting

PROVIDER_TIMEOUT: Final = "02002"
LONGEST_OBJECT: Final = 49
_SIRET: Final = re.compile(r"[0-9]{14}", re.ASCII)


@section("enrichment")
class RcsSettings(Section):
    """The settings of API Entreprise."""

    rcs_url: str = setting("https://entreprise.api.gouv.fr", "API Entreprise.")
    rcs_token: str = setting("", "The token of API Entreprise; without one it is not called.")
    rcs_context: str = setting("Enrichissement de dossier", "Its parameter context.")
    rcs_object: str = setting("M3 enrichissement", "Its parameter object, under 50 characters.")
    rcs_recipient: str = setting(
        "", "Its parameter recipient: the SIRET of the public body that asks; without it no call."
    )
    rcs_per_second: float = setting(4.1, "Calls to it, at most; it allows 250 a minute.", low=0.01, high=100_000)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rcs_recipient and not _SIRET.fullmatch(self.rcs_recipient):
            raise SettingsError(
                "enrichment.rcs_recipient is no SIRET",
                hint="Write the 14 digits of the public body, or nothing.",
                name="rcs_recipient",
            )
        if len(self.rcs_object) > LONGEST_OBJECT:
            raise SettingsError(
                f"enrichment.rcs_object is longer than {LONGEST_OBJECT} characters",
                hint="API Entreprise refuses it: shorten it.",
                name="rcs_object",
            )


class Rcs(Source):
    """API Entreprise."""

    api = SourceApi.RCS
    doc_type = "RCS_EXTRACT"
    credentials = ("rcs_token", "rcs_recipient")
    volatile = frozenset({"date_extrait"})
    codes = dict.fromkeys((409, 503), ErrorCode.SOURCE_UNAVAILABLE)

    def pace(self, settings: RcsSettings) -> Pace:
        return Pace(settings.rcs_per_second)

    async def ask(self, wire: Wire, siren: str, *, probe: bool) -> Reply:
        settings = wire.settings
        base = settings.rcs_url.rstrip("/")
        bearer = {"Authorization": f"Bearer {settings.rcs_token}"}
        if probe:  # after a pause: unthrottled, and it costs no call of the quota
            found = await wire.get(self.api, f"{base}/ping/infogreffe/rcs", bearer, counts=False)
            if found.status != httpx.codes.OK:
                down = "the source says that it is down"
                unavailable = Reply.failed(self.api, ErrorCode.SOURCE_UNAVAILABLE, down)
                return Reply(error=found.error or unavailable.error)
        return await wire.get(
            self.api,
            f"{base}/v3/infogreffe/rcs/unites_legales/{siren}/extrait_kbis",
            bearer,
            {"context": settings.rcs_context, "object": settings.rcs_object, "recipient": settings.rcs_recipient},
        )

    async def try_credentials(self, http: httpx.AsyncClient, settings: RcsSettings) -> int | None:
        url = f"{settings.rcs_url.rstrip('/')}/privileges"
        return (await http.get(url, headers={"Authorization": f"Bearer {settings.rcs_token}"})).status_code

    def error_code(self, status: int, code: str | None) -> ErrorCode:
        """Return the code as `Source.error_code`: that the provider behind it was late is said in the body."""
        late = code == PROVIDER_TIMEOUT
        return ErrorCode.TIMEOUT if late else super().error_code(status, code)

    def about(self, payload: Json) -> str | None:
        return text(payload, "data", "siren")

    def fields(self, payload: Json) -> dict[str, str | None]:
        data = at(payload, "data")
        legal, natural = at(data, "personne_morale"), at(data, "personne_physique")
        registry = text(data, "greffe", "valeur")
        address = at(natural, "adresse")
        name = words([text(natural, "prenom"), text(natural, "nom")])
        return {
            "legal_name": text(legal, "denomination") or name,
            "legal_form": text(legal, "forme_juridique", "valeur"),
            "creation_date": text(data, "date_immatriculation"),
            "active_status": None if not data else ("C" if text(data, "date_radiation") else "A"),
            "address_line1": text(address, "ligne_1")
            or words(text(address, part) for part in ("numero", "type", "voie")),
            "postal_code": text(address, "code_postal"),
            "city": text(address, "localite"),
            "rcs_city": registry,
            "registry_name": f"RCS {registry}" if registry else None,
        }

    def directors(self, payload: Json) -> Iterator[Director]:
        for one in listed(payload, "data", "mandataires_sociaux"):
            kind = (text(one, "type") or "").replace("_", " ")
            name = text(one, "raison_sociale") or words([text(one, "prenom"), text(one, "nom")])
            yield director(name, text(one, "fonction"), kind, text(one, "numero_identification"))
