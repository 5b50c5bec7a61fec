"""Plays the scenario "enrichment": cached, partial, refused, refreshed."""

from typing import Any

from ostinato.testing import Scenario, System

PATH = "/v1/requests"
CREATED, ACCEPTED, CONFLICT = 201, 202, 409


async def run(system: System) -> None:
    """Ask for companies that behave in different ways, as the sandbox plays them."""
    # A company of its own in every run: letters of the run as digits.
    own = "998" + "".join(str(ord(letter) % 10) for letter in system.run[:6])
    first = await _asked(system, own)
    done = await _ended(system, first)
    company = done["company"]
    sources = {name: origin["source_api"] for name, origin in company["provenance"].items()}
    system.check(
        "three sources are merged, and each field says who said so",
        done["request"]["enrichment_status"] == "SUCCESS"
        and (sources["legal_name"], sources["legal_form"], sources["rcs_city"])
        == ("API_RECHERCHE_ENTREPRISES", "INPI_RNE", "API_ENTREPRISE_RCS"),
        done,
    )
    again = await system.call("POST", PATH, status=CREATED, json={"siren": own})
    system.check(
        "the same company again is answered from the cache",
        not again.json()["enrichment_running"] and again.json()["company"] is not None,
        again.text,
    )
    await _refused(system)
    partial = await _ended(system, await _asked(system, "999000086"))
    system.check(
        "a source that does not know the company leads to PARTIAL, and the rest is kept",
        partial["request"]["enrichment_status"] == "PARTIAL"
        and partial["request"]["enrichment_error"] == "API_ENTREPRISE_RCS:404:NOT_FOUND",
        partial["request"],
    )
    masked = await _ended(system, await _asked(system, "999000078"))
    system.check(
        "what the source withholds is shown by nobody",
        masked["company"]["data_masked"] and masked["company"]["address_line1"] is None,
        masked["company"],
    )
    await _refreshed(system, first)


async def _refused(system: System) -> None:
    bad = {"siren": "123456789", "siret": "98765432100012"}
    answer = await system.call("POST", PATH, status=422, json=bad)
    system.check(
        "a SIRET of another SIREN is refused before anything is stored",
        answer.json()["code"] == "SIREN_SIRET_MISMATCH",
        answer.text,
    )


async def _refreshed(system: System, request_id: str) -> None:
    path = f"{PATH}/{request_id}:refresh-company"
    await system.call("POST", path, status=ACCEPTED)
    await _ended(system, request_id)
    answer = await system.call("POST", path, status=CONFLICT)
    system.check("a refresh by hand runs once a minute", int(answer.headers["Retry-After"]) > 0, answer.text)


async def _asked(system: System, siren: str) -> str:
    answer = await system.http.post(PATH, json={"siren": siren})
    if answer.status_code not in (CREATED, ACCEPTED):
        system.fail(f"POST {PATH} was answered {answer.status_code}: {answer.text[:300]}")
    return str(answer.json()["request"]["id"])


async def _ended(system: System, request_id: str) -> dict[str, Any]:
    async def look() -> dict[str, Any] | None:
        found: dict[str, Any] = (await system.call("GET", f"{PATH}/{request_id}")).json()
        return None if found["enrichment_running"] else found

    return await system.until(f"request {request_id} has ended", look)


SCENARIO = Scenario(
    "enrichment", "French companies from three official sources: merged, cached, partial, refreshed.", run
)
