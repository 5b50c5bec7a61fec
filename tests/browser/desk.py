"""Something for people to look at and decide in every application, made over the API as its users do."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from ostinato.apps.watchfolder import scans
from tests.browser.place import TENANT, Place, asking, hook
from tests.waiting import until

ROLES = ("admin", "agency_user", "capture", "clerk", "organizer")
FOLDERS = "/api/v1/watchfolder/folders"
FOLDER = "courrier"
FAILING = "rebuts"
CAPTURES = "/documents/capture"
BULK = "/api/v1/engine/bulk"


def furnish_apps(place: Place) -> None:
    """Fill the applications: a duplicate that waits, a held sender, a message, companies, captures, a group."""
    with asking(place.url, place.key("lea", *ROLES)) as http:
        _enrich(http)
        _send(http, place)
        _play(http)
        _capture(http, place)
        hook(place, "till", receives=False)
        _redrive(http)
        scan_twice(http, "facture-0412.jpg", "encore.jpg", scans.FACTURE)


def _redrive(http: httpx.Client) -> None:
    """A canary of dead letters whose cause is not gone, which halts."""
    asked = {"verb": "redrive", "filter": {"kind": "tour.poison"}, "canary": True, "preview": False}
    started = http.post(BULK, json=asked | {"reason": "the customer is back"})
    assert started.status_code in (200, 202), started.text
    path = f"{BULK}/{started.json()['bulk_id']}"
    until(lambda: _asked(http, path)["state"] not in {"running", "waiting"})


def scan_twice(http: httpx.Client, first: str, second: str, text: str) -> str:
    """Have a page read and then come again; the key under which it is held."""
    made = http.post(FOLDERS, json={"name": FOLDER})
    assert made.status_code in (201, 409), made.text
    incoming = Path(_asked(http, f"{FOLDERS}/{FOLDER}")["path"]) / "in"
    page = scans.render(text, dpi=110, kind="PNG")
    until(incoming.is_dir)
    done = len(_jobs(http, "DONE"))
    _put(incoming, first, page)
    until(lambda: len(_jobs(http, "DONE")) > done)
    _put(incoming, second, page)
    until(lambda: bool(_waiting(http)))
    return str(_waiting(http)[0]["job_key"])


def scan_badly(http: httpx.Client, name: str) -> None:
    """Have a file fail that is a picture by its first bytes only, in a folder of its own."""
    made = http.post(FOLDERS, json={"name": FAILING})
    assert made.status_code in (201, 409), made.text
    incoming = Path(_asked(http, f"{FOLDERS}/{FAILING}")["path"]) / "in"
    until(incoming.is_dir)
    _put(incoming, name, scans.render(scans.FACTURE, dpi=40, kind="PNG")[:400])
    until(lambda: bool(_asked(http, f"{FOLDERS}/{FAILING}/jobs", state="ERROR")["jobs"]))


def _jobs(http: httpx.Client, state: str) -> list[dict[str, Any]]:
    """Return the jobs of the folder in a state; what cannot be read is not waited for."""
    failed = _asked(http, f"{FOLDERS}/{FOLDER}/jobs", state="ERROR")["jobs"]
    assert failed == []
    return list(_asked(http, f"{FOLDERS}/{FOLDER}/jobs", state=state)["jobs"])


def _waiting(http: httpx.Client) -> list[dict[str, Any]]:
    held = _asked(http, f"{FOLDERS}/{FOLDER}/duplicates", state="DUPLICATE_PENDING")
    return list(held["duplicates"])


def _put(folder: Path, name: str, data: bytes) -> None:
    (folder / f".{name}").write_bytes(data)
    (folder / f".{name}").rename(folder / name)


def _enrich(http: httpx.Client) -> None:
    for siren in ("999000003", "999000086"):  # all sources answer; one does not
        asked = http.post("/v1/requests", json={"siren": siren})
        assert asked.status_code in (201, 202), asked.text


def _send(http: httpx.Client, place: Place) -> None:
    sender = {"channel": "EMAIL", "providerKey": "atlas@example.test", "display": "Atlas"}
    given = http.put("/api/v1/outbound/senders", json=sender)
    assert given.status_code == 200, given.text
    consent = {"subjectId": "contact-7", "channel": "EMAIL", "status": "GRANTED", "address": "ana@example.test"}
    proof = {"proof": {"wording": "J'accepte de recevoir vos messages.", "version": "3", "language": "fr"}}
    assert http.put("/api/v1/outbound/consents", json=consent | proof).status_code == 200
    held = (
        "update outbound.sender set held_until = now() + interval '1 day', hold_reason = 'the provider refused it',"
        " hold_code = '550' where tenant_id = %s returning id"
    )
    place.value(held, TENANT)
    text = {"text": "Votre rendez-vous est confirmé.", "subject": "Rendez-vous", "channel": "EMAIL"}
    whom = {"to": "ana@example.test", "subjectId": "contact-7", "dossierId": "D-42"}
    sent = http.post("/api/v1/outbound/messages", json=text | whom, headers={"Idempotency-Key": "browser-1"})
    assert sent.status_code in (200, 201), sent.text


def _play(http: httpx.Client) -> None:
    group = {"name": "Les voisins", "drop_time": "02:30", "zone": "Europe/Paris"}
    made = http.post("/api/v1/rounds/groups", json=group)
    assert made.status_code == 201, made.text


def _capture(http: httpx.Client, place: Place) -> None:
    """One capture that is sealed and comes again with other content, and one whose object was tampered with."""
    for number, (upload, ends) in enumerate((("as_is", "SEALED"), ("tampered", "REJECTED"))):
        seen = {
            "capture_id": f"{number}b2c3d4e-e5f6-4a7b-8c9d-0e1f2a3b4c5d",
            "user_id": "lea",
            "timestamp_device": datetime.now(UTC).isoformat(),
            "upload": upload,
        }
        with asking(place.sandbox) as sandbox:
            body = _told(sandbox.post("/_sandbox/capture/device", json=seen))
        body |= {"ocr_text": "FACTURE 2026-04", "ocr_language": "fr"}
        assert http.post(CAPTURES, json=body).status_code == 202
        if upload == "as_is":
            assert http.post(CAPTURES, json=body | {"size_bytes": body["size_bytes"] + 1}).status_code == 409
        path = f"{CAPTURES}/{body['capture_id']}"
        until(lambda path=path, ends=ends: _asked(http, path)["state"] in (ends, "ANCHORED"))  # type: ignore[misc]


def _asked(http: httpx.Client, path: str, **params: str) -> dict[str, Any]:
    """What is there."""
    return _told(http.get(path, params=params))


def _told(answer: httpx.Response) -> dict[str, Any]:
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found
