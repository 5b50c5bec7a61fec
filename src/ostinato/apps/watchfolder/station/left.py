"""Finds what a service before this one left in a folder: jobs that are DONE, and those that it did not end."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from ostinato.apps.watchfolder.station.records import Job, Plan
from ostinato.apps.watchfolder.station.refused import Refused
from ostinato.apps.watchfolder.utils import read_json, sha256_file
from ostinato.observe import get_logger

log = get_logger("watchfolder.station")


def left_in(place: Path, plan: Plan) -> Iterator[Job]:
    """Yield the jobs that a service of this name had accepted, as they ended; what was temporary is removed."""
    for left in place.glob(f"*/tmp-{plan.name}*"):
        shutil.rmtree(left, ignore_errors=True)
    for path in sorted(place.glob(f"*/{plan.name}.job.json")):
        try:
            job = _job(path, plan)
        except Exception as error:  # noqa: BLE001 - what a process left must never keep a service from starting
            log.warning("left_unreadable", service=plan.name, folder=path.parent.name, error=type(error).__name__)
        else:
            yield job


def _job(path: Path, plan: Plan) -> Job:
    body = read_json(path)
    job = Job(path.parent, int(body["attempt"]), body)
    done = read_json(path.parent / f"{plan.name}.done.json")
    failed = read_json(path.parent / f"{plan.name}.error.json")
    output = path.parent / plan.output
    if done and done["attempt"] == job.attempt:
        gone = not output.exists()  # handed on already
        if gone or sha256_file(output) == done["sha256"]:
            job.state, job.result = "DONE", done
            return job
    job.state = "ERROR"
    if failed and failed.get("attempt") == job.attempt:
        job.error = failed["error"]
    else:
        job.error = Refused("SERVICE_RESTARTED", "the service was restarted").document()
    return job
