"""PREP and OCR as they are, over real HTTP on loopback, each in a thread of the test process."""

import asyncio
import hashlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI

from tests.waiting import until


@contextmanager
def serving(app: FastAPI) -> Iterator[str]:
    """The address of a running service, which stops at the end."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="on", ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])))
        thread.start()
        try:
            until(lambda: server.started or not thread.is_alive())
            assert server.started, "the service did not start"
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@dataclass
class Desk:
    """A folder `work/`, and a service that works in it."""

    work: Path
    http: httpx.Client

    def place(self, data: bytes, name: str = "input.bin") -> dict[str, Any]:
        """Put a file into the folder of its job; what to submit."""
        digest = hashlib.sha256(data).hexdigest()
        job_key = f"{digest}__{'0' * 16}"
        path = self.work / job_key / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return {"jobKey": job_key, "attempt": 1, "inputPath": str(path), "inputSha256": digest}

    def submit(self, body: dict[str, Any]) -> httpx.Response:
        return self.http.post("/jobs", json=body)

    def poll(self, job_key: str) -> dict[str, Any]:
        found: dict[str, Any] = self.http.get(f"/jobs/{job_key}").json()
        return found

    def ended(self, job_key: str) -> dict[str, Any]:
        """Wait until a job has ended."""
        until(lambda: self.poll(job_key)["state"] != "RUNNING")
        return self.poll(job_key)

    def done(self, data: bytes) -> dict[str, Any]:
        """Have a file worked on; how it ended."""
        body = self.place(data)
        assert self.submit(body).status_code == 202
        return self.ended(body["jobKey"])


@contextmanager
def desk(app: FastAPI, work: Path) -> Iterator[Desk]:
    """A service and the folder that it shares with us."""
    with serving(app) as url, httpx.Client(base_url=url, timeout=60, trust_env=False) as http:
        yield Desk(work, http)
