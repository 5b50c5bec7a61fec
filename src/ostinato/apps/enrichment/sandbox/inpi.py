"""Plays INPI in the sandbox, with records in their full shape.

POST /registers/api/sso/login               five logins in 30 seconds, then a ban
GET  /registers/api/companies/{siren}       for a token that was given out
"""

import base64
import itertools
import json
from collections.abc import Mapping
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from ostinato.apps.enrichment.sandbox.companies import AUDITOR, Invented
from ostinato.apps.enrichment.sandbox.world import CUT, HOUR, Script, Window, World, after, cut

USER, PASSWORD = "sandbox@example.test", "sandbox"
SCRIPTS: Final[Mapping[str, Script]] = {
    "999000037": ((200, 8),),
    "999000045": ((503, 0), (503, 0), (200, 0)),
    "999000094": ((401, 0), (200, 0)),
    "999000128": ((503, 4), (200, 4)),
}
ABROAD: Final[dict[str, str | None]] = {
    "pays": "BELGIQUE",
    "codePays": "BEL",
    "codePostal": None,
    "commune": "BRUXELLES",
    "codeInseeCommune": None,
}
ADDRESS: Final[dict[str, str | None]] = {
    "pays": "FRANCE",
    "codePays": "FRA",
    "codePostal": "69003",
    "commune": "LYON 3",
    "codeInseeCommune": "69383",
    "typeVoie": "RUE",
    "voie": "DES EXEMPLES",
    "numVoie": "12",
    "indiceRepetition": "B",
    "complementLocalisation": "BAT C",
    "distributionSpeciale": None,
}


class Inpi:
    """The stand-in."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.router = APIRouter(prefix="/api")
        self.router.post("/sso/login")(self._login)
        self.router.get("/companies/{siren}")(self._company)
        self.reset()

    def reset(self) -> None:
        """Forget who called."""
        self._window = Window(5, 30, self._world.clock)
        self._tokens: set[str] = set()
        self._numbers = itertools.count(1)

    def settings(self, base: str) -> dict[str, str]:
        """Return the settings that lead enrichment here."""
        return {"INPI_URL": f"{base}/api", "INPI_USERNAME": USER, "INPI_PASSWORD": PASSWORD}

    async def _login(self, request: Request) -> Response:
        if self._world.is_banned("login"):
            return _refused(429, "too_many_requests", "Trop de tentatives.", after(600))
        if self._window.take() is not None:
            self._world.ban("login", 600)
            return _refused(429, "too_many_requests", "Trop de tentatives.", after(600))
        account = await request.json()
        if (account.get("username"), account.get("password")) != (USER, PASSWORD):
            return _refused(401, "unauthorized", "Identifiants invalides.", service="LOGIN_AUTHENTICATOR")
        token = self._new_token()
        user = {
            "id": 123,
            "email": USER,
            "firstname": "Service",
            "lastname": "EXEMPLE",
            "roles": ["ROLE_NIVEAU_1_COMPANIES_METADATA", "ROLE_API"],
            "lastLogin": "2026-02-20T11:10:56+02:00",
            "statusHabilitation": "Fait",
            "active": True,
            "originCreation": "SSO_INPI",
        }
        return JSONResponse({"token": token, "user": user})

    async def _company(self, siren: str, request: Request) -> Response:
        if siren == CUT:
            return cut()
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        if bearer not in self._tokens:
            return _refused(401, "unauthorized", "Jeton invalide.")
        status = await self._world.turn("inpi", siren, SCRIPTS)
        if status == 401:  # noqa: PLR2004 - HTTP
            self._tokens.discard(bearer)
            return _refused(401, "unauthorized", "Jeton expiré.")
        if status != 200:  # noqa: PLR2004 - HTTP
            return _refused(status, "internal_error", "Service indisponible.")
        company = self._world.company(siren)
        if company is None:
            said = "Impossible de trouver la ressource demandée"
            return _refused(404, "company_not_found", said, kind="notFound")
        return JSONResponse(record(company))

    def _new_token(self) -> str:
        claims = {"exp": int(self._world.wall()) + HOUR, "jti": next(self._numbers)}
        head, body = ({"alg": "none", "typ": "JWT"}, claims)
        parts = [base64.urlsafe_b64encode(json.dumps(part).encode()) for part in (head, body)]
        token = ".".join(part.decode().rstrip("=") for part in parts) + ".sandbox"
        self._tokens.add(token)
        return token


def _refused(
    status: int,
    code: str,
    message: str,
    headers: dict[str, str] | None = None,
    *,
    service: str = "api_company",
    kind: str = "error",
) -> Response:
    body = {"code": str(status), "webserviceCode": service, "errorCode": code, "message": message, "type": kind}
    return JSONResponse(body, status, headers)


def record(company: Invented) -> dict[str, Any]:
    """Return the company as INPI's register has it."""
    ended = "2025-06-30" if company.ceased else None
    content: dict[str, Any] = {
        "formeExerciceActivitePrincipale": "COMMERCIALE",
        "natureCreation": {
            "dateCreation": "2014-04-18",
            "formeJuridique": company.form,
            "formeJuridiqueInsee": company.form,
            "societeEtrangere": False,
            "microEntreprise": False,
            "etablieEnFrance": True,
            "salarieEnFrance": True,
            "relieeEntrepriseAgricole": False,
            "entrepriseAgricole": False,
            "eirl": False,
        },
        "natureCessationEntreprise": {"etatAdministratifInsee": "C" if company.ceased else "A"},
        "registreAnterieur": {
            "rncs": {"estPresent": True, "dateImmatriculation": "2014-05-02T00:00:00+02:00"},
            "rnm": {"estPresent": False},
            "raa": {"estPresent": False},
        },
    }
    content["personnePhysique" if company.natural else "personneMorale"] = _person(company, ended)
    return {
        "id": f"63ab{company.siren:0>20}",
        "siren": company.siren,
        "createdAt": "2023-01-01T00:00:00+01:00",
        "updatedAt": "2026-01-10T02:15:30+01:00",
        "origin": "GU",
        "formality": {
            "siren": company.siren,
            "typePersonne": "P" if company.natural else "M",
            "formeJuridique": company.form,
            "diffusionCommerciale": not company.masked,
            "diffusionINSEE": "P" if company.masked else "O",
            "content": content,
        },
    }


def _person(company: Invented, ended: str | None) -> dict[str, Any]:
    human = {
        "nom": "EXEMPLE",
        "prenoms": ["CAMILLE", "ANNE"],
        "dateDeNaissance": "1979-04",
        "role": "73",
        "nationalite": "Française",
        "codeNationalite": "FRA",
    }
    identity = _identity(company)
    shared = {
        "identite": identity,
        "adresseEntreprise": {
            "caracteristiques": {"ambulant": False, "domiciliataire": None},
            "adresse": ADDRESS | (ABROAD if company.abroad else {}),
        },
        "etablissementPrincipal": _establishment(company),
        "autresEtablissements": [],
        "detailCessationEntreprise": {"dateRadiation": ended, "dateEffet": ended, "dateCessationTotaleActivite": ended},
    }
    if company.natural:
        own = {**human, "nom": "DURAND", "prenoms": ["CLAUDE"], "genre": "1", "nomUsage": None}
        identity["entrepreneur"] = {"descriptionPersonne": own}
        return shared
    return shared | {
        "composition": {"pouvoirs": _powers(human)},
        "observations": {
            "rcs": [
                {
                    "idObservation": 1,
                    "numObservation": "2020B0001",
                    "dateAjout": "2020-02-23",
                    "texte": "TRANSFERT DU SIEGE",
                    "dateGreffe": "2020-02-20",
                    "etatObs": "Ajout",
                }
            ]
        },
        "beneficiairesEffectifs": [],
    }


def _identity(company: Invented) -> dict[str, Any]:
    return {
        "entreprise": {
            "siren": company.siren,
            "denomination": None if company.natural else company.name,
            "formeJuridique": company.form,
            "nomCommercial": "LE FICTIF",
            "sigle": "ADF",
            "nicSiege": company.siret[9:],
            "codeApe": "6201Z",
            "effectifSalarie": "12",
            "indicateurAssocieUnique": False,
            "dateImmat": "2014-05-02T00:00:00+02:00",
            "dateDebutActiv": "2014-05-02",
        },
        "description": {
            "objet": "Conception de logiciels",
            "duree": 99,
            "ess": False,
            "capitalVariable": False,
            "montantCapital": 50000.0,
            "deviseCapital": "EUR",
            "dateClotureExerciceSocial": "3112",
            "dateFinExistence": None,
        },
    }


def _powers(human: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "roleEntreprise": "73",
            "libelleRoleEntreprise": "Président de SAS",
            "typeDePersonne": "INDIVIDU",
            "actif": True,
            "individu": {"descriptionPersonne": human, "adresseDomicile": {}},
        },
        {
            "typeDePersonne": "ENTREPRISE",
            "entreprise": {
                "roleEntreprise": "71",
                "siren": AUDITOR,
                "denomination": "AUDIT IMAGINAIRE",
                "formeJuridique": "Société par actions simplifiée",
            },
            "adresseEntreprise": {},
        },
    ]


def _establishment(company: Invented) -> dict[str, Any]:
    return {
        "descriptionEtablissement": {
            "siret": company.siret,
            "rolePourEntreprise": "2",
            "nomCommercial": "LE FICTIF",
            "enseigne": None,
            "indicateurEtablissementPrincipal": True,
            "activiteNonSedentaire": False,
        },
        "adresse": {},
        "activites": [
            {
                "categoryCode": "02080901",
                "indicateurPrincipal": True,
                "indicateurProlongement": False,
                "dateDebut": "2014-05-02",
                "formeExercice": "COMMERCIALE",
                "codeApe": "6201Z",
                "codeAprm": None,
                "descriptionDetaillee": "Conception de logiciels",
                "rolePrincipalPourEntreprise": True,
            }
        ],
    }
