"""Made-up people and secrets that nothing may tell, planted on the main paths of all applications.

Each path is taken over HTTP against a whole system that runs; `planted` is what must then be in no
log line, no metric and no error document.
"""

import base64
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from ostinato.apps.outbound.demo import PHONE_NUMBER_ID, SANDBOX, TEMPLATE
from tests.waiting import until

NAME = "Zebulon-Canari"
TEXT = "canari-free-text-51f0"
MAIL = "zebulon.canari@example.test"
PHONE, FAILING = "+33639981777", "+33639981778"
TOKEN = "canari8Kq2vN5xTokenZ"
PLANTED = (NAME, TEXT, MAIL, MAIL.partition("@")[0], PHONE, PHONE[1:], FAILING, FAILING[1:], TOKEN)

OUTBOUND, ROUNDS, ENGINE = "/api/v1/outbound", "/api/v1/rounds", "/api/v1/engine"
ENDED = ("DELIVERED", "FAILED", "CANCELLED", "READ")


@dataclass
class Walk:
    """What walks all paths, as the demo's administrator, and keeps the documents of errors."""

    api: httpx.Client
    sandbox: httpx.Client
    errors: list[str] = field(default_factory=list)

    def call(self, method: str, path: str, status: int | None = None, **request: Any) -> Any:  # noqa: ANN401
        """What is answered; an answer that is an error is kept, unless it must not be one."""
        answer = self.api.request(method, path, **request)
        if answer.is_error:
            # The path is what the caller itself has asked for; nobody else is told of it.
            self.errors.append(str({**answer.json(), "instance": None}))
        assert answer.status_code == status if status is not None else answer.is_success, answer.text
        return answer.json() if "json" in answer.headers.get("content-type", "") else answer.text

    def outbound(self) -> None:
        """Two messages, one delivered and one refused by the provider, and requests that are wrong."""
        self.sandbox.put(SANDBOX, json={"api": str(self.api.base_url).rstrip("/")})
        script = {"to": FAILING, "answers": ["131026"]}
        assert self.sandbox.put(f"{SANDBOX}/script", json=script).is_success
        sender = {"channel": "WHATSAPP", "providerKey": PHONE_NUMBER_ID, "display": "Atlas"}
        self.call("PUT", f"{OUTBOUND}/senders", json=sender)
        self.call("PUT", f"{OUTBOUND}/templates/canari/fr", json=TEMPLATE)
        for number in (PHONE, FAILING):
            self._send(number)
        message = _message(PHONE)
        self.call("POST", f"{OUTBOUND}/messages", 422, json=message | {"to": f"{PHONE}x"})
        self.call("POST", f"{OUTBOUND}/messages", 422, json=message | {"to": "+33639981779", "subjectId": NAME})
        self.call("PUT", f"{OUTBOUND}/consents", 422, json=_consent(PHONE) | {"address": MAIL})
        self.api.get(f"{OUTBOUND}/unsubscribe/{TOKEN}")
        self.call("POST", f"{OUTBOUND}/unsubscribe/{TOKEN}", 404)

    def _send(self, number: str) -> None:
        self.call("PUT", f"{OUTBOUND}/consents", json=_consent(number))
        key = {"Idempotency-Key": f"canari-{number[-4:]}"}
        made = self.call("POST", f"{OUTBOUND}/messages", json=_message(number), headers=key)
        until(lambda: self.call("GET", f"{OUTBOUND}/messages/{made['id']}")["status"] in ENDED)

    def rounds(self) -> None:
        """A group with a prompt and a member."""
        made = {"name": NAME, "drop_time": "14:30", "zone": "Europe/Paris"}
        group = self.call("POST", f"{ROUNDS}/groups", 201, json=made)["id"]
        self.call("POST", f"{ROUNDS}/groups/{group}/prompts", 201, json={"title": TEXT})
        self.call("PUT", f"{ROUNDS}/groups/{group}/members/{NAME}", json={})
        self.call("POST", f"{ROUNDS}/groups/{group}/prompts", 422, json={"title": 7, "notes": TEXT})
        self.call("GET", f"{ROUNDS}/groups/{group}/prompts/{TEXT}", 422)

    def capture(self, now: str) -> None:
        """A capture that is sealed, with what the device has read, and one that is not one."""
        order = {"user_id": "demo", "timestamp_device": now, "content_b64": base64.b64encode(TEXT.encode()).decode()}
        body = self.sandbox.post("/_sandbox/capture/device", json=order).json() | {"ocr_text": f"{NAME} {TEXT}"}
        self.call("POST", "/documents/capture", 202, json=body)
        path = f"/documents/capture/{body['capture_id']}"
        until(lambda: self.call("GET", path)["state"] in ("SEALED", "ANCHORED"))
        self.call("POST", "/documents/capture", 409, json=body | {"size_bytes": 1})
        self.call("POST", "/documents/capture", 422, json=body | {"mime_type": TEXT})

    def enrichment(self) -> None:
        """A company, and what is no company."""
        made = self.api.post("/v1/requests", json={"siren": "999000086"}).json()["request"]["id"]
        until(lambda: not self.call("GET", f"/v1/requests/{made}")["enrichment_running"])
        self.call("POST", "/v1/requests", 400, json={"siren": TEXT})

    def watchfolder(self) -> None:
        """A document that cannot be read, under the name of a person."""
        folders = "/api/v1/watchfolder/folders"
        root = Path(self.call("POST", folders, 201, json={"name": "canari"})["path"])
        until((root / "in").exists)
        (root / "in" / f"{NAME}.pdf.part").write_bytes(f"%PDF-1.7 {TEXT}".encode())
        (root / "in" / f"{NAME}.pdf.part").rename(root / "in" / f"{NAME}.pdf")
        until(lambda: self.call("GET", f"{folders}/canari/jobs", params={"state": "ERROR"})["jobs"])
        self.call("POST", f"{folders}/canari/pause")

    def engine(self) -> None:
        """A job whose error quotes a person and a password, and keys that are none."""
        reason = f"no mailbox {MAIL}, call {PHONE}, password={TOKEN} was refused"
        job = self.call("POST", f"{ENGINE}/jobs", json={"kind": "tour.poison", "args": {"reason": reason}})["job_id"]
        until(lambda: self.call("GET", f"{ENGINE}/jobs/{job}")["state"] == "dead")
        self.call("POST", f"{ENGINE}/jobs", 422, json={"kind": "tour.count", "args": {"to": TEXT}})
        for bearer in (f"ost_1_{TOKEN}", f"eyJhbGciOiJub25lIn0.{TOKEN}.", TOKEN):
            refused = self.api.get(f"{ENGINE}/jobs?token={TOKEN}", headers={"Authorization": f"Bearer {bearer}"})
            assert refused.status_code == 401
            self.errors.append(refused.text)


def _consent(number: str) -> dict[str, Any]:
    return {
        "subjectId": f"{NAME}-{number[-4:]}",
        "channel": "WHATSAPP",
        "purpose": "TRANSACTIONAL",
        "status": "GRANTED",
        "address": number,
        "source": "FORM",
        "proof": {"wording": TEXT, "version": "3"},
    }


def _message(number: str) -> dict[str, Any]:
    return {
        "channel": "WHATSAPP",
        "to": number,
        "subjectId": f"{NAME}-{number[-4:]}",
        "dossierId": "D-canari",
        "templateCode": "canari",
        "variables": {"name": NAME},
        "urgent": True,
    }


def told(texts: dict[str, str], planted: tuple[str, ...] = PLANTED) -> list[str]:
    """Where which of the planted words occurs, with the line."""
    return [
        f"{word!r} in {where}: {line[:300]}"
        for where, text in texts.items()
        for line in text.splitlines()
        for word in planted
        if word in line
    ]
