"""What each source says about a company, as the fields of ours (domain.md 5.4, source paths).

Every level of an answer may be absent, and any text null: INPI's records are incomplete for weeks.
What a source withholds is the literal `[NON-DIFFUSIBLE]`: no value, and named as masked.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from ostinato.apps.enrichment.labels import ALPHA_2, COUNTRIES, LEGAL_FORMS, ROLES
from ostinato.apps.enrichment.merge import FIELDS
from ostinato.apps.enrichment.model import SourceApi

__all__ = ["MASK", "Extract", "directors", "extract"]

MASK: Final = "[NON-DIFFUSIBLE]"
PARTIAL: Final = "P"
"""`diffusion partielle`."""
LEGAL_PERSON: Final = "personne morale"
NAF_LENGTH: Final = 5

Json = Any


class Extract(NamedTuple):
    """The fields that a source knows, and those that it withholds."""

    values: dict[str, str]
    masked: tuple[str, ...]


def extract(source: SourceApi, payload: Json) -> Extract:
    """The fields of an answer."""
    if source is SourceApi.SEARCH:
        found = _of_search(_at(payload, "results", 0))
    elif source is SourceApi.INPI:
        found = _of_inpi(payload)
    else:
        found = _of_rcs(_at(payload, "data"))
    masked = tuple(name for name in FIELDS if MASK in (found.get(name) or ""))
    values = {name: value for name in FIELDS if (value := found.get(name)) and name not in masked}
    return Extract(values, masked)


def directors(
    payloads: Mapping[SourceApi, Json], *, hidden: bool = False
) -> list[dict[str, str | None]]:
    """The directors, from the first source that names some; for those who may see them.

    Of a company whose data is withheld (domain.md 1.6) the names of natural persons are, too,
    whichever source knows them: `hidden`, or as one of the answers says.
    """
    hidden = hidden or withholds(payloads)
    of = {
        SourceApi.INPI: _inpi_directors,
        SourceApi.RCS: _rcs_directors,
        SourceApi.SEARCH: _search_directors,
    }
    for source, read in of.items():
        found = list(read(payloads.get(source)))
        if found:
            return [_unnamed(one) if hidden else one for one in found]
    return []


def withholds(payloads: Mapping[SourceApi, Json]) -> bool:
    """Whether a source says that the company's data is not for everybody."""
    unit = _at(payloads.get(SourceApi.SEARCH), "results", 0)
    formality = _at(payloads.get(SourceApi.INPI), "formality")
    return (
        _text(unit, "statut_diffusion") == PARTIAL
        or _text(formality, "diffusionINSEE") == PARTIAL
        or _at(formality, "diffusionCommerciale") is False
    )


def _of_search(unit: Json) -> dict[str, str | None]:
    siege = _at(unit, "siege")
    abroad = _text(siege, "libelle_pays_etranger")
    place = any(_text(siege, name) for name in ("code_postal", "libelle_commune", "commune"))
    return {
        "legal_name": _text(unit, "nom_raison_sociale") or _text(unit, "nom_complet"),
        "trade_name": _text(unit, "nom_complet"),
        "brand_name": _text(unit, "sigle"),
        "legal_form": LEGAL_FORMS.get(_text(unit, "nature_juridique") or ""),
        "creation_date": _text(unit, "date_creation"),
        "active_status": _text(unit, "etat_administratif"),
        "address_line1": _text(siege, "adresse"),
        "address_line2": _text(siege, "complement_adresse"),
        "postal_code": _text(siege, "code_postal"),
        "city": _text(siege, "libelle_commune"),
        "country_code": COUNTRIES.get(abroad.upper()) if abroad else ("FR" if place else None),
        "naf_code": _text(unit, "activite_principale"),
        # The answer has the code only, and no list of INSEE's is at hand: a label is not invented.
        "naf_label": None,
        "headcount_range": _text(unit, "tranche_effectif_salarie"),
    }


def _of_inpi(record: Json) -> dict[str, str | None]:
    formality = _at(record, "formality")
    content = _at(formality, "content")
    person = _person(content)
    company = _at(person, "identite", "entreprise")
    creation = _at(content, "natureCreation")
    address = _at(person, "adresseEntreprise", "adresse")
    main = _at(person, "etablissementPrincipal")
    return {
        "legal_name": _text(company, "denomination") or _inpi_name(person),
        "trade_name": _text(company, "nomCommercial"),
        "brand_name": _text(main, "descriptionEtablissement", "enseigne"),
        "legal_form": LEGAL_FORMS.get(
            _text(formality, "formeJuridique")
            or _text(creation, "formeJuridique")
            or _text(company, "formeJuridique")
            or ""
        ),
        "creation_date": _text(creation, "dateCreation")
        or (_text(company, "dateImmat") or "")[:10],
        "active_status": "C"
        if _text(person, "detailCessationEntreprise", "dateRadiation")
        else _text(content, "natureCessationEntreprise", "etatAdministratifInsee"),
        "address_line1": _words(
            _text(address, name) for name in ("numVoie", "indiceRepetition", "typeVoie", "voie")
        ),
        "address_line2": _text(address, "complementLocalisation"),
        "postal_code": _text(address, "codePostal"),
        "city": _text(address, "commune"),
        "country_code": ALPHA_2.get((_text(address, "codePays") or "").upper()),
        "naf_code": _dotted(_text(company, "codeApe")),
    }


def _of_rcs(data: Json) -> dict[str, str | None]:
    legal, natural = _at(data, "personne_morale"), _at(data, "personne_physique")
    registry = _text(data, "greffe", "valeur")
    address = _at(natural, "adresse")
    name = _words([_text(natural, "prenom"), _text(natural, "nom")])
    return {
        "legal_name": _text(legal, "denomination") or name,
        "legal_form": _text(legal, "forme_juridique", "valeur"),
        "creation_date": _text(data, "date_immatriculation"),
        "active_status": None if not data else ("C" if _text(data, "date_radiation") else "A"),
        "address_line1": _text(address, "ligne_1")
        or _words(_text(address, part) for part in ("numero", "type", "voie")),
        "postal_code": _text(address, "code_postal"),
        "city": _text(address, "localite"),
        "rcs_city": registry,
        "registry_name": f"RCS {registry}" if registry else None,
    }


def _person(content: Json) -> Json:
    """Exactly one of the three kinds of persons is there."""
    for name in ("personneMorale", "personnePhysique", "exploitation"):
        if _at(content, name):
            return _at(content, name)
    return None


def _inpi_name(person: Json) -> str | None:
    described = _at(person, "identite", "entrepreneur", "descriptionPersonne")
    first = _at(described, "prenoms")
    return _words([*(first if isinstance(first, list) else []), _text(described, "nom")])


def _inpi_directors(record: Json) -> Iterator[dict[str, str | None]]:
    person = _person(_at(record, "formality", "content"))
    alone = _at(person, "identite", "entrepreneur", "descriptionPersonne")
    if alone:
        yield _director(_inpi_name(person), ROLES.get("101"), "personne physique")
    powers = _at(person, "composition", "pouvoirs")
    for power in powers if isinstance(powers, list) else []:
        described = _at(power, "individu", "descriptionPersonne")
        company = _at(power, "entreprise")
        role = (
            _text(power, "roleEntreprise")
            or _text(company, "roleEntreprise")
            or _text(described, "role")
        )
        label = _text(power, "libelleRoleEntreprise") or ROLES.get(role or "")
        if company:
            name = _text(company, "denomination")
            yield _director(name, label, LEGAL_PERSON, _text(company, "siren"))
        elif described:
            first = _at(described, "prenoms")
            words = [*(first if isinstance(first, list) else []), _text(described, "nom")]
            yield _director(_words(words), label, "personne physique")


def _rcs_directors(answer: Json) -> Iterator[dict[str, str | None]]:
    listed = _at(answer, "data", "mandataires_sociaux")
    for one in listed if isinstance(listed, list) else []:
        kind = (_text(one, "type") or "").replace("_", " ")
        name = _text(one, "raison_sociale") or _words([_text(one, "prenom"), _text(one, "nom")])
        yield _director(name, _text(one, "fonction"), kind, _text(one, "numero_identification"))


def _search_directors(answer: Json) -> Iterator[dict[str, str | None]]:
    listed = _at(answer, "results", 0, "dirigeants")
    for one in listed if isinstance(listed, list) else []:
        kind = _text(one, "type_dirigeant") or ""
        name = _text(one, "denomination") or _words([_text(one, "prenoms"), _text(one, "nom")])
        yield _director(name, _text(one, "qualite"), kind, _text(one, "siren"))


def _unnamed(director: dict[str, str | None]) -> dict[str, str | None]:
    """The role stays; so does a company, which is no person."""
    return director if director["type_dirigeant"] == LEGAL_PERSON else director | {"nom": None}


def _director(
    name: str | None, role: str | None, kind: str, siren: str | None = None
) -> dict[str, str | None]:
    """Of a person no more than the name and the role; births and homes stay in the documents."""
    shown = None if name is None or MASK in name else name
    return {"nom": shown, "qualite": role, "type_dirigeant": kind, "siren": siren}


def _at(value: Json, *path: str | int) -> Json:
    """What is at a place, None where the way ends before."""
    for part in path:
        if isinstance(part, int):
            value = value[part] if isinstance(value, list) and len(value) > part else None
        else:
            value = value.get(part) if isinstance(value, dict) else None
    return value


def _text(value: Json, *path: str | int) -> str | None:
    found = _at(value, *path)
    return found.strip() or None if isinstance(found, str) else None


def _words(parts: Any) -> str | None:  # noqa: ANN401 - texts, some of them absent
    return " ".join(part for part in parts if isinstance(part, str) and part) or None


def _dotted(code: str | None) -> str | None:
    """`6201Z` as the nomenclature writes it: `62.01Z`."""
    if code is not None and len(code) == NAF_LENGTH and "." not in code:
        return f"{code[:2]}.{code[2:]}"
    return code
