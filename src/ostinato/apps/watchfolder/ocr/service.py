"""Builds OCR as a service: its plan and its application."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from ostinato.apps.watchfolder.ocr import rapid
from ostinato.apps.watchfolder.ocr.engines import Engine, choose
from ostinato.apps.watchfolder.prep.service import require, version_of
from ostinato.apps.watchfolder.station.jobs import Station
from ostinato.apps.watchfolder.station.records import Plan
from ostinato.apps.watchfolder.station.sandbox import Limits, told_level
from ostinato.apps.watchfolder.station.server import build

VERSION = "2"
PACKAGES = ("ocrmypdf", "pikepdf", "pypdfium2", "fpdf2")
RAPID = ("rapidocr", "onnxruntime")


def plan(
    engine: Engine | None = None, *, concurrency: int = 1, page_seconds: float = 120.0, beat_seconds: float = 5.0
) -> Plan:
    """OCR with this engine, or the one of this machine."""
    chosen = engine or choose()
    threads = max(1, (os.cpu_count() or 1) // concurrency)
    return Plan(
        name="ocr",
        work="ostinato.apps.watchfolder.ocr.work",
        output="final.pdf",
        limits=Limits(memory_bytes=4 << 30, cpu_seconds=6 * 3_600, file_bytes=4 << 30),
        concurrency=concurrency,
        page_seconds=page_seconds,
        beat_seconds=beat_seconds,
        options={"engine": asdict(chosen), "threads": threads, "megapixels": 200},
    )


def application(work_dir: Path, chosen: Plan | None = None, *, drain: float = 0.0) -> FastAPI:
    """The application of OCR for the jobs below a folder."""
    require("ocrmypdf", "pikepdf", "pypdfium2")
    made = chosen or plan()
    engine = made.options["engine"]
    sandbox = told_level("ocr")

    def info() -> dict[str, Any]:
        tools = {name: version_of(name) for name in PACKAGES}
        if engine["name"] == "tesseract":
            tools["tesseract"] = engine["version"]
        models = {}
        if engine["name"] == "rapid" or engine["escalates"]:
            tools |= {name: version_of(name) for name in RAPID}
            models = rapid.models()
        return {
            "service": "ocr",
            "apiVersion": 1,
            "version": VERSION,
            "engine": engine["name"],
            "langs": list(engine["langs"]),
            "tools": tools,
            "models": models,
            "params": {"version": VERSION, "mode": "skip", "outputType": "auto", "optimize": 0},
            "limits": {"megapixels": made.options["megapixels"]},
            "sandbox": sandbox,
            "beatSeconds": made.beat_seconds,
        }

    return build(Station(made, work_dir), info, drain=drain)
