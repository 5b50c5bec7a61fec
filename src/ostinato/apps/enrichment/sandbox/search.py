"""Plays API Recherche d'entreprises in the sandbox, in its full shape.

    GET /registers/search       7 calls a second; who goes on after a 429 is banned

All blocks, or with `minimal=true` those that `include` names; `score` only if it is named.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse

from ostinato.apps.enrichment.sandbox.companies import ASSOCIATION, AUDITOR, Invented
from ostinato.apps.enrichment.sandbox.world import CUT, Script, Window, World, after, cut
from ostinato.apps.enrichment.sources.reading import MASK

SCRIPTS: Final[Mapping[str, Script]] = {
    "999000052": ((503, 0), (503, 0), (503, 0), (200, 0)),
    "999000128": ((503, 4), (503, 4), (200, 4)),
}
OTHER: Final = {"999000110": "999000003"}
BLOCKS: Final = frozenset({"complements", "dirigeants", "finances", "matching_etablissements", "siege", "score", "tva"})
USUAL: Final = BLOCKS - {"score"}
MOST_PAGES, MOST_PER_PAGE, MOST_RESULTS = 1000, 25, 10_000
SIREN_DIGITS, SIRET_DIGITS = 9, 14
# Names of fields: what is masked, what is false, what is null.
HIDDEN: Final = """
adresse cedex code_postal complement_adresse coordonnees distribution_speciale
indice_repetition longitude latitude libelle_cedex libelle_voie numero_voie
dernier_numero_voie type_voie
"""
NO: Final = """
egapro_renseignee est_achats_responsables est_alim_confiance est_avocat est_bio
est_entrepreneur_spectacle est_ess est_finess est_organisme_formation est_qualiopi est_rge
est_siae est_societe_mission est_uai est_patrimoine_vivant bilan_ges_renseigne
a_aide_minimis a_aide_ademe est_administration
"""
EMPTY: Final = """
collectivite_territoriale liste_finess_juridique liste_id_organisme_formation
identifiant_association statut_entrepreneur_spectacle type_siae est_service_public
est_l100_3
"""
ABROAD: Final[Mapping[str, str | None]] = {
    "adresse": "12 RUE DES EXEMPLES BRUXELLES BELGIQUE",
    "code_pays_etranger": "99131",
    "code_postal": None,
    "commune": None,
    "departement": None,
    "epci": None,
    "libelle_commune": None,
    "libelle_commune_etranger": "BRUXELLES",
    "libelle_pays_etranger": "BELGIQUE",
    "region": None,
}


NOT_IN_MATCHES: Final = """
cedex code_pays_etranger complement_adresse coordonnees departement distribution_speciale
geo_adresse indice_repetition libelle_cedex libelle_commune_etranger libelle_pays_etranger
libelle_voie numero_voie type_voie date_mise_a_jour date_mise_a_jour_insee
"""


class Search:
    """The stand-in."""

    def __init__(self, world: World, most: int) -> None:
        self._world = world
        self._most = most
        self.router = APIRouter()
        self.router.get("/search")(self._answer)
        self.reset()

    def reset(self) -> None:
        """Forget who called."""
        self._window = Window(self._most, 1, self._world.clock)

    def settings(self, base: str) -> dict[str, str]:
        """Return the settings that lead enrichment here."""
        return {"SEARCH_URL": base}

    async def _answer(self, request: Request) -> Response:
        query = dict(request.query_params)
        asked = query.get("q", "").replace(" ", "")
        if asked[:9] == CUT or self._world.is_banned("search"):
            return cut()
        waits = self._window.take()
        if waits is not None:
            # From the front, not from the application: a body that means nothing.
            self._world.ban_if_ignored("search", self._window)
            return HTMLResponse("<h1>429 Too Many Requests</h1>", 429, after(waits))
        if (said := refused(query)) is not None:
            return JSONResponse({"erreur": said}, 400)
        status = await self._world.turn("search", asked[:9], SCRIPTS)
        if status != 200:  # noqa: PLR2004 - HTTP
            return JSONResponse({"erreur": "Erreur interne du serveur."}, status)
        company = self._world.company(asked[:9])
        known = company is not None and asked in (company.siren, *company.sirets)
        found = [_found(company, asked, query)] if company is not None and known else []
        return JSONResponse(
            {
                "results": found,
                "total_results": len(found),
                "page": int(query.get("page", "1")),
                "per_page": int(query.get("per_page", "10")),
                "total_pages": len(found),
            }
        )


def _found(company: Invented, asked: str, query: Mapping[str, str]) -> dict[str, Any]:
    return unit(
        company,
        siren=OTHER.get(company.siren),
        blocks=asked_blocks(query),
        siret=asked if len(asked) > len(company.siren) else None,
    )


def refused(query: Mapping[str, str]) -> str | None:
    """Return why the real one answers 400; None: it does not."""
    minimal = query.get("minimal", "false").lower()
    included = {name for name in query.get("include", "").split(",") if name}
    page, per_page = _number(query.get("page", "1")), _number(query.get("per_page", "10"))
    asked = query.get("q", "").replace(" ", "")
    rules = (
        (minimal in ("true", "false"), "Le paramètre `minimal` doit être true ou false."),
        (
            "include" not in query or minimal == "true",
            "Le paramètre `include` demande une réponse minimale (`minimal=true`).",
        ),
        (included <= BLOCKS, f"`include` accepte : {', '.join(sorted(BLOCKS))}."),
        (1 <= page <= MOST_PAGES, f"`page` doit être entre 1 et {MOST_PAGES}."),
        (1 <= per_page <= MOST_PER_PAGE, f"`per_page` doit être entre 1 et {MOST_PER_PAGE}."),
        (page * per_page <= MOST_RESULTS, f"Pas plus de {MOST_RESULTS} résultats."),
        (
            asked.isdigit() and len(asked) in (SIREN_DIGITS, SIRET_DIGITS),
            "Veuillez indiquer au moins un paramètre de recherche.",
        ),
    )
    return next((said for holds, said in rules if not holds), None)


def asked_blocks(query: Mapping[str, str]) -> frozenset[str]:
    """Return the blocks that a query asks for."""
    if query.get("minimal", "false").lower() != "true":
        return USUAL
    return frozenset(query["include"].split(",")) if "include" in query else frozenset()


def unit(
    company: Invented, *, siren: str | None = None, blocks: Collection[str] = USUAL, siret: str | None = None
) -> dict[str, Any]:
    """Return the company as API Recherche d'entreprises has it; `siret`: one that was looked up."""
    found = _plain(company, siren or company.siren)
    siege = _siege(company)
    secondary: dict[str, Any] = {
        "siege": siege,
        "dirigeants": _directors(company),
        "matching_etablissements": [] if siret is None else [_match(siege, siret)],
        "finances": {"2024": {"ca": 1843200, "resultat_net": 91500}},
        "complements": _complements(company),
        "tva": [f"FR{(12 + 3 * (int(company.siren) % 97)) % 97:02}{company.siren}"],
        "score": 87.5,
    }
    return found | {name: secondary[name] for name in secondary if name in blocks}


def _plain(company: Invented, own: str) -> dict[str, Any]:
    person = company.natural and company.masked
    state = "C" if company.ceased else "A"
    return {
        "siren": own,
        "nom_complet": MASK if person else f"{company.name} (LE FICTIF) (ADF)",
        "nom_raison_sociale": MASK if person else company.name,
        "sigle": MASK if company.masked else "ADF",
        "nombre_etablissements": 3,
        "nombre_etablissements_ouverts": 0 if company.ceased else 2,
        "activite_principale": "62.01Z",
        "activite_principale_naf25": "62.10Y",
        "categorie_entreprise": "PME",
        "caractere_employeur": "O",
        "annee_categorie_entreprise": "2023",
        "date_creation": "2014-05-02",
        "date_fermeture": "2025-06-30" if company.ceased else None,
        "date_mise_a_jour": "2026-01-13T08:00:00",
        "date_mise_a_jour_insee": "2026-01-12T03:34:50",
        "date_mise_a_jour_rne": "2026-01-10T02:15:30",
        "etat_administratif": state,
        "nature_juridique": company.form,
        "section_activite_principale": "J",
        "tranche_effectif_salarie": "12",
        "annee_tranche_effectif_salarie": "2023",
        "statut_diffusion": "P" if company.masked else "O",
    }


def _directors(company: Invented) -> list[dict[str, Any]]:
    person = {
        "nom": "DURAND" if company.natural else "EXEMPLE",
        "prenoms": "CLAUDE" if company.natural else "CAMILLE ANNE",
        "annee_de_naissance": "1979",
        "date_de_naissance": "1979-04",
        "nationalite": "Française",
    }
    if company.masked:
        person = dict.fromkeys(person, MASK)
    role = None if company.natural else "Président de SAS"
    human = {**person, "qualite": role, "type_dirigeant": "personne physique"}
    auditor = {
        "siren": AUDITOR,
        "denomination": "AUDIT IMAGINAIRE",
        "qualite": "Commissaire aux comptes titulaire",
        "type_dirigeant": "personne morale",
    }
    return [human] if company.natural else [human, auditor]


def _match(siege: Mapping[str, Any], siret: str) -> dict[str, Any]:
    dropped = set(NOT_IN_MATCHES.split())
    kept = {name: value for name, value in siege.items() if name not in dropped}
    return kept | {"siret": siret, "est_siege": siret == siege["siret"], "ancien_siege": False}


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0  # noqa: PLR2004 - what fits


def _siege(company: Invented) -> dict[str, Any]:
    siege = {
        "activite_principale": "62.01Z",
        "activite_principale_naf25": "62.10Y",
        "activite_principale_registre_metier": None,
        "annee_tranche_effectif_salarie": "2023",
        "adresse": "BAT C 12 BIS RUE DES EXEMPLES 69003 LYON 3EME",
        "caractere_employeur": "O",
        "cedex": None,
        "code_pays_etranger": None,
        "code_postal": "69003",
        "commune": "69383",
        "complement_adresse": "BAT C",
        "coordonnees": "45.7601,4.8520",
        "date_creation": "2014-05-02",
        "date_debut_activite": "2019-01-01",
        "date_fermeture": "2025-06-30" if company.ceased else None,
        "date_mise_a_jour": None,
        "date_mise_a_jour_insee": "2026-01-12T03:34:50",
        "departement": "69",
        "distribution_speciale": None,
        "epci": "200046977",
        "est_siege": True,
        "etat_administratif": "F" if company.ceased else "A",
        "geo_adresse": None,
        "geo_id": None,
        "indice_repetition": "B",
        "latitude": "45.7601",
        "libelle_cedex": None,
        "libelle_commune": "LYON 3EME",
        "libelle_commune_etranger": None,
        "libelle_pays_etranger": None,
        "libelle_voie": "DES EXEMPLES",
        "liste_enseignes": ["LE FICTIF"],
        "liste_finess": None,
        "liste_id_bio": None,
        "liste_idcc": ["1486"],
        "liste_id_organisme_formation": None,
        "liste_rge": None,
        "liste_uai": None,
        "longitude": "4.8520",
        "nom_commercial": "LE FICTIF",
        "numero_voie": "12",
        "dernier_numero_voie": None,
        "region": "84",
        "siret": company.siret,
        "statut_diffusion_etablissement": "P" if company.masked else "O",
        "tranche_effectif_salarie": "12",
        "type_voie": "RUE",
    }
    if company.abroad:
        siege |= ABROAD
    if company.masked:
        siege |= dict.fromkeys(HIDDEN.split(), MASK)
    if company.masked and company.natural:
        siege |= {"nom_commercial": MASK, "liste_enseignes": [MASK]}
    return siege


def _complements(company: Invented) -> dict[str, Any]:
    no = dict.fromkeys(NO.split(), False)
    empty = dict.fromkeys(EMPTY.split())
    own = {"convention_collective_renseignee": True, "liste_idcc": ["1486"]}
    kind = {"est_association": company.form == ASSOCIATION, "est_entrepreneur_individuel": company.natural}
    return {**no, **empty, **own, **kind}
