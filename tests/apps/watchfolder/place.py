"""A watched place for tests of the orchestrator alone: real files, services that answer at once.

As the specification wants it, `requests.get` and `requests.post` are replaced in these tests; the
services behind them obey the contract of PREP and OCR, work on the real files, and can be told to
fail. The real services have tests of their own.
"""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import requests

from ostinato.apps.watchfolder.core import canonical_profile
from ostinato.apps.watchfolder.folders import Folders
from ostinato.apps.watchfolder.model import Document, Index, InFlight
from ostinato.apps.watchfolder.tick.context import Hooks
from ostinato.apps.watchfolder.tick.options import Options
from ostinato.apps.watchfolder.tick.orchestrator import Orchestrator

PROFILE = canonical_profile({"tools": {"p": "1"}}, {"tools": {"o": "1"}}, "fra+eng")


def answer(status: int, body: object) -> requests.Response:
    made = requests.Response()
    made.status_code = status
    made._content = json.dumps(body).encode()
    return made


@dataclass
class Services:
    """PREP and OCR in one: what was submitted, and what to answer."""

    output: dict[str, str] = field(default_factory=lambda: {"prep": "raw.pdf", "ocr": "final.pdf"})
    jobs: dict[tuple[str, str], Document] = field(default_factory=dict)
    submits: list[tuple[str, str, int]] = field(default_factory=list)
    judge: Callable[[str, Document], Document | None] = lambda _service, _body: None
    """What becomes of a submitted job; None: it is done well."""
    away: set[str] = field(default_factory=set)

    def post(self, url: str, **options: Any) -> requests.Response:  # noqa: ANN401 - as requests
        service, body = self._service(url), options["json"]
        known = self.jobs.get((service, body["jobKey"]))
        if known is not None and known["attempt"] == body["attempt"]:
            return answer(200, known)
        if known is not None and known["attempt"] > body["attempt"]:
            return answer(409, {"code": "OLD_ATTEMPT", "attempt": known["attempt"]})
        self.submits.append((service, body["jobKey"], body["attempt"]))
        record = {"jobKey": body["jobKey"], "attempt": body["attempt"]}
        record |= self.judge(service, body) or self._done(service, body)
        self.jobs[service, body["jobKey"]] = record
        return answer(202, record)

    def get(self, url: str, **_: Any) -> requests.Response:  # noqa: ANN401 - as requests
        service = self._service(url)
        if url.endswith("/info"):
            return answer(200, {"tools": {service[0]: "1"}})
        known = self.jobs.get((service, url.rpartition("/")[2]))
        return answer(404, {}) if known is None else answer(200, known)

    def _service(self, url: str) -> str:
        service = url.split("//")[1].split(":", maxsplit=1)[0]
        if service in self.away:
            raise requests.ConnectionError(service)
        return service

    def _done(self, service: str, body: Document) -> Document:
        source = Path(body["inputPath"])
        target = source.parent / self.output[service]
        temporary = target.with_suffix(".new")
        shutil.copy(source, temporary)
        temporary.rename(target)
        return {"state": "DONE", "result": {"pages": 1, "path": str(target)}}


@dataclass
class Place:
    """A place, the services, and an orchestrator that can be started anew."""

    root: Path
    services: Services
    folders: Folders = field(init=False)
    now: float = 0.0
    orchestrator: Orchestrator = field(init=False)
    events: list[Document] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.folders = Folders.below(self.root)
        self.folders.make()

    @property
    def in_flight(self) -> InFlight:
        return self.orchestrator.in_flight

    @property
    def index(self) -> Index:
        return self.orchestrator.index

    @property
    def metrics(self) -> Document:
        return self.orchestrator.metrics

    def start(self, **more: Any) -> None:  # noqa: ANN401 - as Options
        """As a new process: nothing is remembered but the files."""
        given: dict[str, Any] = {
            "prep_url": "http://prep:1",
            "ocr_url": "http://ocr:1",
            "prep_concurrency": 4,
            "ocr_concurrency": 4,
            "job_timeout_s": 60,
            "stable_s": 0.0,
            "poll_s": 0.0,
            "retry_s": 0.0,
            "min_free_bytes": 0,
        }
        hooks = Hooks(clock=lambda: self.now, on_event=self.events.append)
        self.orchestrator = Orchestrator(self.folders, Options(**(given | more)), hooks)
        self.orchestrator.begin(PROFILE)

    def change(self, **options: Any) -> None:  # noqa: ANN401 - as Options
        """Give the running orchestrator other options."""
        self.orchestrator.options = replace(self.orchestrator.options, **options)

    def tick(self, times: int = 1) -> Document:
        done: Document = {}
        for _ in range(times):
            self.now += 1.0
            done = self.orchestrator.tick(PROFILE)
        return done

    def drop(self, name: str, content: bytes) -> Path:
        path = self.folders.incoming / name
        path.write_bytes(content)
        return path

    def decide(self, job_key: str, action: str, **more: object) -> None:
        path = self.folders.hold / job_key / "decision.json"
        path.write_text(json.dumps({"action": action, **more}))

    def held(self) -> list[str]:
        return sorted(path.name for path in self.folders.hold.iterdir())

    def state(self, job_key: str) -> Document:
        found: Document = json.loads((self.folders.work / job_key / "state.json").read_text())
        return found

    def only_key(self) -> str:
        (job_key,) = self.index["jobs"]
        return str(job_key)

    def files(self, folder: Path) -> list[str]:
        return sorted(path.name for path in folder.rglob("*") if path.is_file())
