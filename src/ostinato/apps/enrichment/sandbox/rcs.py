"""Plays API Entreprise in the sandbox, with extracts in their full shape.

GET /registers/v3/infogreffe/rcs/unites_legales/{siren}/extrait_kbis     250 calls a minute
GET /registers/ping/infogreffe/rcs
GET /registers/privileges                                                what a token may do
"""

from collections.abc import Mapping
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from ostinato.apps.enrichment.sandbox.companies import ASSOCIATION, AUDITOR, Invented
from ostinato.apps.enrichment.sandbox.world import CUT, Script, Window, World, after, cut

TOKEN: Final = "sandbox-rcs-token"  # noqa: S105 - of nothing
RECIPIENT: Final = "99700000500014"
"""A public body that does not exist."""
SCRIPTS: Final[Mapping[str, Script]] = {"999000029": ((429, 0),), "999000128": ((200, 4),)}
PLACE: Final = """
nom_postal numero type voie ligne_1 ligne_2 localite code_postal bureau_distributeur pays
"""


class Rcs:
    """The stand-in."""

    def __init__(self, world: World, most: int) -> None:
        self._world = world
        self._most = most
        self.router = APIRouter()
        path = "/v3/infogreffe/rcs/unites_legales/{siren}/extrait_kbis"
        self.router.get(path)(self._extract)
        self.router.get("/ping/infogreffe/rcs")(self._ping)
        self.router.get("/privileges")(self._privileges)
        self.reset()

    def reset(self) -> None:
        """Forget who called."""
        self._window = Window(self._most, 60, self._world.clock)

    def settings(self, base: str) -> dict[str, str]:
        """Return the settings that lead enrichment here."""
        return {"RCS_URL": base, "RCS_TOKEN": TOKEN, "RCS_RECIPIENT": RECIPIENT}

    async def _ping(self) -> Response:
        at = "2026-02-20T10:00:00Z"
        return JSONResponse({"status": "ok", "last_update": at, "last_ok_status": at})

    async def _privileges(self, request: Request) -> Response:
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return self._refused(401, "00101", "Votre jeton n'est pas valide.", "token")
        return JSONResponse({"privileges": ["extraits_rcs"]})

    async def _extract(  # noqa: PLR0911 - one for each way to refuse
        self,
        siren: str,
        request: Request,
        context: str = "",
        object: str = "",  # noqa: A002 - as the real one
        recipient: str = "",
    ) -> Response:
        if siren == CUT or self._world.is_banned("rcs"):
            return cut()
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return self._refused(401, "00101", "Votre jeton n'est pas valide.", "token")
        waits = self._window.take()
        if waits is not None:
            self._world.ban_if_ignored("rcs", self._window)
            return self._refused(429, "00429", "Trop de requêtes.", headers=after(waits))
        for given, code, name in (
            (context, "00201", "context"),
            (object, "00202", "object"),
            (recipient, "00203", "recipient"),
        ):
            if not given:
                return self._refused(422, code, f"Le paramètre {name} est manquant.", name)
        if not (recipient.isdigit() and len(recipient) == 14):  # noqa: PLR2004 - a SIRET
            return self._refused(422, "00210", "Le recipient n'est pas un SIRET.", "recipient")
        if recipient[:9] == siren:
            return self._refused(422, "00211", "Le recipient est l'appelé.", "recipient")
        status = await self._world.turn("rcs", siren, SCRIPTS)
        if status == 429:  # noqa: PLR2004 - HTTP
            return self._refused(429, "00429", "Trop de requêtes.", headers=after(30))
        company = self._world.company(siren)
        if company is None or company.form == ASSOCIATION:
            return self._refused(404, "02003", "Entité non trouvée.")
        return JSONResponse(extract(company), headers=self._headers())

    def _refused(
        self, status: int, code: str, detail: str, parameter: str | None = None, headers: dict[str, str] | None = None
    ) -> Response:
        error: dict[str, Any] = {"code": code, "title": "Erreur", "detail": detail, "meta": {}}
        if parameter is not None:
            error["source"] = {"parameter": parameter}
        if code.startswith("02"):
            error["meta"] = {"provider": "Infogreffe"}
        return JSONResponse({"errors": [error]}, status, self._headers() | (headers or {}))

    def _headers(self) -> dict[str, str]:
        return {
            "RateLimit-Limit": str(self._window.most),
            "RateLimit-Remaining": str(self._window.left),
            "RateLimit-Reset": str(int(self._world.wall() + self._window.ends_in)),
        }


def extract(company: Invented) -> dict[str, Any]:
    """Return the company as the extract of the RCS has it."""
    nobody = {
        "adresse": dict.fromkeys(PLACE.split()),
        "nationalite": {"valeur": None, "code": None},
        "nom": "DURAND" if company.natural else None,
        "prenom": "Claude" if company.natural else None,
        "naissance": {"pays": {"valeur": None, "code": None}, "date": None, "lieu": None},
    }
    form: dict[str, Any] = {"valeur": company.form_label, "code": "SASh"}
    legal = {
        "forme_juridique": {"valeur": None, "code": None} if company.natural else form,
        "denomination": None if company.natural else company.name,
        "date_cloture_exercice_comptable": "12-31",
        "date_fin_de_vie": None if company.natural else "2113-05-01",
    }
    data = {
        "siren": company.siren,
        "date_radiation": "2025-06-30" if company.ceased else None,
        "date_extrait": "2026-02-20",
        "date_immatriculation": "2014-05-02",
        "mandataires_sociaux": _agents(),
        "observations": [{"numero": "12345", "libelle": "TRANSFERT DU SIEGE", "date": "2020-01-01"}],
        "nom_commercial": "LE FICTIF",
        "etablissement_principal": {
            "activite": "Conception de logiciels",
            "origine_fonds": "CREATION",
            "mode_exploitation": "EXPLOITATION DIRECTE",
            "code_ape": "6201Z",
        },
        "capital": {"montant": 50000.0, "devise": "EUROS", "code_devise": "EUR"},
        "greffe": {"valeur": "LYON", "code": "6901"},
        "personne_physique": nobody,
        "personne_morale": legal,
    }
    return {"data": data, "links": {}, "meta": {}}


def _agents() -> list[dict[str, Any]]:
    return [
        {
            "numero_identification": None,
            "type": "personne_physique",
            "fonction": "PRESIDENT",
            "nom": "EXEMPLE",
            "prenom": "Camille",
            "date_naissance": "1979-04",
            "raison_sociale": None,
        },
        {
            "numero_identification": AUDITOR,
            "type": "personne_morale",
            "fonction": "COMMISSAIRE AUX COMPTES TITULAIRE",
            "nom": None,
            "prenom": None,
            "date_naissance": None,
            "raison_sociale": "AUDIT IMAGINAIRE",
        },
    ]
