"""Builds PREP as a service: its plan and its application."""

from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from ostinato.apps.watchfolder.prep import libarchive
from ostinato.apps.watchfolder.prep.kinds import ACCEPTS
from ostinato.apps.watchfolder.prep.limits import PrepLimits
from ostinato.apps.watchfolder.station.jobs import Station
from ostinato.apps.watchfolder.station.records import Plan
from ostinato.apps.watchfolder.station.sandbox import Limits, told_level
from ostinato.apps.watchfolder.station.server import build
from ostinato.errors import NotConfigured

VERSION = "2"
PACKAGES = ("pikepdf", "img2pdf", "pillow", "pillow-heif")


def plan(
    *, concurrency: int = 2, limits: PrepLimits | None = None, page_seconds: float = 120.0, beat_seconds: float = 5.0
) -> Plan:
    """Plan PREP with these limits."""
    return Plan(
        name="prep",
        work="ostinato.apps.watchfolder.prep.work",
        output="raw.pdf",
        limits=Limits(memory_bytes=3 << 30, cpu_seconds=3_600, file_bytes=4 << 30),
        concurrency=concurrency,
        page_seconds=page_seconds,
        beat_seconds=beat_seconds,
        options={"limits": asdict(limits or PrepLimits())},
    )


def application(
    work_dir: Path | None, chosen: Plan | None = None, *, root: Path | None = None, drain: float = 0.0
) -> FastAPI:
    """Make the application of PREP for the jobs of a folder, or of all folders below a root."""
    require("pikepdf", "img2pdf", "PIL")
    made = chosen or plan()
    sandbox = told_level("prep")

    def info(_lang: str | None) -> dict[str, Any]:
        return {
            "service": "prep",
            "apiVersion": 1,
            "version": VERSION,
            "tools": {name: version_of(name) for name in PACKAGES} | {"libarchive": libarchive.version()},
            "params": {"version": VERSION, "fallbackPage": "A4"},
            "limits": made.options["limits"],
            "accepts": list(ACCEPTS),
            "sandbox": sandbox,
            "beatSeconds": made.beat_seconds,
        }

    return build(Station(made, work_dir, root), info, drain=drain)


def require(*modules: str) -> None:
    """Say what to install when something of the extra is not there."""
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        raise NotConfigured(f"this service needs {', '.join(missing)}", hint='pip install "ostinato[ocr]"')


def version_of(package: str) -> str:
    """Return the version of a package, or that there is none."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"
