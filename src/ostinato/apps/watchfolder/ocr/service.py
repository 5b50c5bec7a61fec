"""Builds OCR as a service: its plan and its application."""

import os
from dataclasses import asdict
from functools import cache
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


RAPID_BYTES = 2 << 30
"""What a process needs that reads with RapidOCR, its models included."""


def most_at_once(engine: Engine) -> int:
    """Return how many documents are read at once: one for each core, as far as there is memory for its models."""
    cores = os.cpu_count() or 1
    if engine.name != "rapid":
        return cores
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(cores, memory // RAPID_BYTES))


def plan(
    engine: Engine | None = None,
    *,
    wanted: str = "auto",
    concurrency: int | None = None,
    page_seconds: float = 120.0,
    beat_seconds: float = 5.0,
) -> Plan:
    """Plan OCR with this engine, or with the one that this machine has for the languages of each job."""
    chosen = engine or choose(wanted)

    @cache
    def engine_of(lang: str) -> dict[str, Any]:
        return asdict(engine or choose(wanted, lang))

    return Plan(
        name="ocr",
        work="ostinato.apps.watchfolder.ocr.work",
        output="final.pdf",
        limits=Limits(memory_bytes=4 << 30, cpu_seconds=6 * 3_600, file_bytes=4 << 30),
        concurrency=concurrency or most_at_once(chosen),
        page_seconds=page_seconds,
        beat_seconds=beat_seconds,
        cores=os.cpu_count() or 1,
        options={"engine": asdict(chosen), "megapixels": 200},
        options_for=lambda body: {"engine": engine_of(body["lang"])},
    )


def application(
    work_dir: Path | None, chosen: Plan | None = None, *, root: Path | None = None, drain: float = 0.0
) -> FastAPI:
    """Make the application of OCR for the jobs of a folder, or of all folders below a root."""
    require("ocrmypdf", "pikepdf", "pypdfium2")
    made = chosen or plan()
    sandbox = told_level("ocr")

    def info(lang: str | None) -> dict[str, Any]:
        engine = made.options["engine"]
        if lang is not None and made.options_for is not None:
            engine = made.options_for({"lang": lang})["engine"]
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
            "concurrency": made.concurrency,
            "sandbox": sandbox,
            "beatSeconds": made.beat_seconds,
        }

    return build(Station(made, work_dir, root), info, drain=drain)
