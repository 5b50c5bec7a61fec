"""Labels of codes: all of INSEE's, told with their code, and never beside another code."""

import pytest

from ostinato.apps.enrichment.extract import extract
from ostinato.apps.enrichment.labels import LEGAL_FORMS, NAF
from ostinato.apps.enrichment.merge import Stored, merge
from ostinato.apps.enrichment.model import Fetched, SourceApi
from ostinato.apps.enrichment.sandbox.companies import invented
from ostinato.apps.enrichment.sandbox.inpi import record
from ostinato.apps.enrichment.sandbox.search import unit
from tests.apps.enrichment.place import Place

SEARCH, INPI, RCS = SourceApi.SEARCH, SourceApi.INPI, SourceApi.RCS
ABROAD = "999000144"


def said(source: SourceApi, **values: str) -> Fetched:
    return Fetched(source, 200, 1, None, values)


def test_every_sub_class_of_naf_has_a_label() -> None:
    assert len(NAF) == 732
    assert {code[:2] for code in NAF} == {f"{n:02}" for n in range(1, 100)} - {
        "04", "34", "40", "44", "48", "54", "57", "67", "76", "83", "89",
    }  # fmt: skip
    assert (NAF["01.11Z"][:19], NAF["56.10C"], NAF["99.00Z"][:25]) == (
        "Culture de céréales",
        "Restauration de type rapide",
        "Activités des organisatio",
    )


def test_every_legal_category_has_a_label() -> None:
    assert len(LEGAL_FORMS) == 262
    assert all(len(code) == 4 and code.isdigit() and label.strip() == label for code, label in LEGAL_FORMS.items())
    assert LEGAL_FORMS["7367"] == "Centre Intercommunal d'action sociale (CIAS)"
    assert {code[0] for code in LEGAL_FORMS} == set("0123456789")


@pytest.mark.parametrize("known", ["5710", "4242"])
def test_a_label_does_not_outlive_its_code(known: str) -> None:
    stored = {"legal_form": Stored("Fondation", SEARCH), "legal_form_code": Stored("9300", SEARCH)}
    told = {"legal_form_code": known} | ({"legal_form": LEGAL_FORMS[known]} if known in LEGAL_FORMS else {})

    merged = merge(stored, [said(SEARCH, **told)])

    assert (merged.values["legal_form_code"], merged.values["legal_form"]) == (known, LEGAL_FORMS.get(known))


def test_a_code_without_a_label_is_labelled_by_who_has_no_codes() -> None:
    merged = merge({}, [said(INPI, legal_form_code="4242"), said(SEARCH, legal_form="SAS"), said(RCS, legal_form="X")])

    assert (merged.values["legal_form_code"], merged.values["legal_form"]) == ("4242", "X")


def test_a_company_abroad_has_a_city() -> None:
    company = invented(ABROAD)
    assert company is not None

    of_search = extract(SEARCH, {"results": [unit(company)]}).values
    of_inpi = extract(INPI, record(company)).values

    assert (of_search["city"], of_search["country_code"]) == ("BRUXELLES", "BE")
    assert (of_inpi["city"], of_inpi["country_code"]) == ("BRUXELLES", "BE")


async def test_the_answer_has_labels_their_codes_and_the_city(place: Place) -> None:
    told = (await place.get(await place.enriched(ABROAD))).json()["company"]

    assert told["legal_form_code"] == "3120"
    assert told["legal_form"] == "Société commerciale étrangère immatriculée au RCS"
    assert (told["naf_code"], told["naf_label"]) == ("62.01Z", "Programmation informatique")
    assert (told["city"], told["country_code"]) == ("BRUXELLES", "BE")
    assert told["provenance"]["legal_form_code"]["source_api"] == "INPI_RNE"
