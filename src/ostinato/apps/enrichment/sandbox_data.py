"""The companies of the sandbox, all invented, in the full shapes of INPI and the RCS."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["AUDITOR", "Invented", "invented", "rcs", "record"]

AUDITOR: Final = "999000029"
PLACE: Final = """
nom_postal numero type voie ligne_1 ligne_2 localite code_postal bureau_distributeur pays
"""


@dataclass(frozen=True, slots=True)
class Invented:
    """A company that does not exist."""

    siren: str
    name: str
    form: str = "5710"
    form_label: str = "SOCIETE PAR ACTIONS SIMPLIFIEE"
    natural: bool = False
    """A natural person, who trades under the own name."""
    masked: bool = False
    ceased: bool = False

    @property
    def siret(self) -> str:
        """Its head office: the NIC 0001x whose last digit makes the sum right."""
        return next(
            number for digit in range(10) if _sum(number := f"{self.siren}0001{digit}") % 10 == 0
        )


ADDRESS: Final[Mapping[str, str | None]] = {
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

NAMED: Final[Mapping[str, Invented]] = {
    company.siren: company
    for company in (
        Invented("999000003", "COMPAGNIE DES ESSAIS"),
        Invented("999000011", "ATELIERS DU FICTIF"),
        Invented("999000029", "AUDIT IMAGINAIRE"),
        Invented("999000037", "LENTEURS REUNIES"),
        Invented("999000045", "HESITATIONS ET FILS"),
        Invented("999000052", "PANNE SECHE"),
        Invented("999000060", "DURAND CLAUDE", form="1000", natural=True, masked=True),
        Invented("999000078", "DISCRETION SAS", masked=True),
        Invented("999000086", "LES AMIS DU TEST", form="9220"),
        Invented("999000094", "JETONS PERIMES"),
        Invented("999000102", "FIN DE PARTIE", ceased=True),
        Invented("999000110", "HOMONYMES"),
        Invented("999000128", "PATIENCE INFINIE"),
        Invented("999000136", "PORTES CLOSES"),
    )
}


def invented(siren: str) -> Invented | None:
    """The company of a SIREN: those of appendix A, and any other that starts with 998 or 999."""
    known = NAMED.get(siren)
    if known is None and siren.startswith(("998", "999")):
        return Invented(siren, f"SOCIETE {siren[3:]}")
    return known


def record(company: Invented) -> dict[str, Any]:
    """The company as INPI's register has it."""
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
            "adresse": dict(ADDRESS),
        },
        "etablissementPrincipal": _establishment(company),
        "autresEtablissements": [],
        "detailCessationEntreprise": {
            "dateRadiation": ended,
            "dateEffet": ended,
            "dateCessationTotaleActivite": ended,
        },
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


def rcs(company: Invented) -> dict[str, Any]:
    """The company as the extract of the RCS has it."""
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
        "observations": [
            {"numero": "12345", "libelle": "TRANSFERT DU SIEGE", "date": "2020-01-01"}
        ],
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


def _sum(number: str) -> int:
    doubled = [int(d) * (1 + n % 2) for n, d in enumerate(reversed(number))]
    return sum(d - 9 if d > 9 else d for d in doubled)  # noqa: PLR2004 - Luhn
