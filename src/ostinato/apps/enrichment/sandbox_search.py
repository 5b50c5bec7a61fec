"""The companies of the sandbox in the full shape of API Recherche d'entreprises."""

from typing import Any, Final

from ostinato.apps.enrichment.sandbox_data import Invented

__all__ = ["MASK", "unit"]

MASK: Final = "[NON-DIFFUSIBLE]"
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


def unit(company: Invented, *, siren: str | None = None) -> dict[str, Any]:
    """The company as API Recherche d'entreprises has it."""
    own = siren or company.siren
    person = company.natural and company.masked
    state = "C" if company.ceased else "A"
    return {
        "siren": own,
        "nom_complet": MASK if person else f"{company.name} (LE FICTIF) (ADF)",
        "nom_raison_sociale": MASK if person else company.name,
        "sigle": MASK if company.masked else "ADF",
        "nombre_etablissements": 3,
        "nombre_etablissements_ouverts": 0 if company.ceased else 2,
        "siege": _siege(company),
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
        "finances": {"2024": {"ca": 1843200, "resultat_net": 91500}},
        "complements": _complements(company),
        "score": 87.5,
    }


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
    if company.masked:
        siege |= dict.fromkeys(HIDDEN.split(), MASK)
    if company.masked and company.natural:
        siege |= {"nom_commercial": MASK, "liste_enseignes": [MASK]}
    return siege


def _complements(company: Invented) -> dict[str, Any]:
    no = dict.fromkeys(NO.split(), False)
    empty = dict.fromkeys(EMPTY.split())
    own = {"convention_collective_renseignee": True, "liste_idcc": ["1486"]}
    kind = {
        "est_association": company.form == "9220",
        "est_entrepreneur_individuel": company.natural,
    }
    return {**no, **empty, **own, **kind}
