"""PREP and OCR as the orchestrator asks them: submit by jobKey, poll, info.

What goes wrong on the way (no connection, too busy, unknown) is `Unreachable`: not the fault
of the file. The calls are `requests.get` and `requests.post`, because the specification says that
tests replace these two; nothing else of ours uses `requests`.
"""

import contextlib
from typing import Any

import requests

TIMEOUT = (3.0, 10.0)  # to connect, to answer
NO_PROXY = {"http": "", "https": ""}  # the services are ours, and near
NOT_FOUND = 404
BUSY = (429, 503)
CONFLICT = 409


class Unreachable(Exception):
    """A service that did not answer as it should; `code` says how."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Away(Unreachable):
    """A service that did not answer at all: asking it about another job would only take time."""

    def __init__(self, url: str, error: Exception) -> None:
        super().__init__("UNREACHABLE", f"{url}: {type(error).__name__}")


def fetch_info(url: str) -> dict[str, Any]:
    """Return what a service is made of: `GET /info`."""
    return _answer(_get(f"{url}/info"))


def submit_prep(url: str, job_key: str, input_path: str, **more: object) -> dict[str, Any]:
    """Ask PREP to make `raw.pdf` of an input."""
    return _submit(url, {"jobKey": job_key, "inputPath": input_path, **more})


def submit_ocr(url: str, job_key: str, raw_pdf: str, **more: object) -> dict[str, Any]:
    """Ask OCR to make `final.pdf` of a `raw.pdf`."""
    return _submit(url, {"jobKey": job_key, "inputPath": raw_pdf, **more})


def poll_job(url: str, job_key: str) -> dict[str, Any]:
    """Return how far a job is: RUNNING, DONE or ERROR."""
    return _answer(_get(f"{url}/jobs/{job_key}"))


def leave(url: str) -> None:
    """Release a folder at a service; one that does not run has released it already."""
    with contextlib.suppress(requests.RequestException):
        requests.delete(url, timeout=TIMEOUT, proxies=NO_PROXY)


def _submit(url: str, body: dict[str, object]) -> dict[str, Any]:
    try:
        response = requests.post(f"{url}/jobs", json=body, timeout=TIMEOUT, proxies=NO_PROXY)
    except requests.RequestException as error:
        raise Away(url, error) from error
    return _answer(response)


def _get(url: str) -> requests.Response:
    try:
        return requests.get(url, timeout=TIMEOUT, proxies=NO_PROXY)
    except requests.RequestException as error:
        raise Away(url, error) from error


def _answer(response: requests.Response) -> dict[str, Any]:
    status = response.status_code
    if status == NOT_FOUND:
        raise Unreachable("UNKNOWN_JOB", "the service does not know the job")
    if status in BUSY:
        raise Unreachable("BUSY", f"the service answered {status}")
    try:
        body = response.json()
    except ValueError as error:
        raise Unreachable("UNREACHABLE", f"the service answered {status}, not JSON") from error
    if not isinstance(body, dict):
        raise Unreachable("UNREACHABLE", f"the service answered {status}, no object")
    if not 200 <= status < 300:  # noqa: PLR2004 - success
        said = body.get("detail") or body
        if status == CONFLICT and isinstance(said, dict) and said.get("code") == "OLD_ATTEMPT":
            raise OldAttempt(int(said.get("attempt", 0)))
        raise Unreachable("REFUSED", f"the service answered {status}: {said!r:.300}")
    return body


class OldAttempt(Unreachable):
    """The service has seen a later attempt of this job."""

    def __init__(self, attempt: int) -> None:
        super().__init__("OLD_ATTEMPT", f"the service is at attempt {attempt} already")
        self.attempt = attempt
