"""Chooses the engine: Tesseract where it is installed with the languages, else RapidOCR."""

import shutil
import subprocess
from dataclasses import dataclass
from functools import cache

from ostinato.apps.watchfolder.ocr import rapid
from ostinato.errors import InvalidInput, NotConfigured

PRIMARY = "fra"
NO_LANGUAGES = {"osd", "equ", "snum"}
"""Data of Tesseract that reads no text."""


@dataclass(frozen=True)
class Engine:
    """What reads the pages."""

    name: str
    """tesseract (with pages that it cannot read going to RapidOCR), or rapid."""
    version: str
    langs: tuple[str, ...]
    has_osd: bool = False
    """Whether Tesseract can find out which way is up."""
    escalates: bool = False
    """Whether pages that Tesseract cannot read go to RapidOCR."""


def call_order(lang: str) -> list[str]:
    """Return the languages as Tesseract takes them: the primary one first, then by name.

    The order matters to Tesseract, and must not depend on how a person wrote it.
    """
    tokens = sorted({token.strip() for token in lang.split("+")} - {""})
    return [token for token in tokens if token == PRIMARY] + [t for t in tokens if t != PRIMARY]


RAPID_LANGS = (
    *("afr", "aze", "bos", "cat", "ceb", "ces", "chi_sim", "chi_tra", "cym", "dan", "deu", "eng", "est", "eus", "fin"),
    *("fra", "gle", "glg", "hrv", "hun", "ind", "isl", "ita", "jpn", "lat", "lav", "lit", "ltz", "mlt", "mri", "msa"),
    *("nld", "nor", "oci", "pol", "por", "que", "ron", "slk", "slv", "spa", "sqi", "srp_latn", "swa", "swe", "tgl"),
    *("tur", "uzb", "vie"),
)
"""What RapidOCR reads, under Tesseract's names: its one model has the letters of all of them."""


def languages() -> tuple[str, ...]:
    """Return the languages that this machine can read, by whichever engine."""
    found = _tesseract()
    here = set(found.langs if found is not None else ()) | set(RAPID_LANGS if rapid.is_installed() else ())
    return tuple(sorted(here - NO_LANGUAGES))


def check_languages(lang: str) -> None:
    """Raise `InvalidInput` for languages that this machine cannot read, with those that it can."""
    there = languages()
    unknown = sorted(set(call_order(lang)) - set(there))
    if unknown or not call_order(lang):
        raise InvalidInput(
            f"there is no language {', '.join(unknown) or repr(lang)} here",
            hint=f"There are: {', '.join(there)}. More: install tesseract-ocr-<language>.",
        )


def choose(wanted: str = "auto", lang: str = "fra+eng") -> Engine:
    """Choose the engine of this machine; `InvalidInput` when there is none for a language."""
    if wanted == "auto" and (rapid.is_installed() or _tesseract() is not None):
        check_languages(lang)
    found = _tesseract()
    if wanted in {"auto", "tesseract"} and found is not None:
        missing = set(call_order(lang)) - set(found.langs)
        if not missing:
            return found
        if wanted == "tesseract":
            raise NotConfigured(
                f"Tesseract has no data for {', '.join(sorted(missing))}",
                hint=f"Install tesseract-ocr-{min(missing)}, or use --engine rapid.",
            )
    if wanted == "tesseract":
        raise NotConfigured("there is no tesseract here", hint="Install tesseract-ocr.")
    if rapid.is_installed() and (unknown := set(call_order(lang)) - set(RAPID_LANGS)):
        raise InvalidInput(
            f"RapidOCR does not read {', '.join(sorted(unknown))}", hint=f"It reads: {', '.join(RAPID_LANGS)}."
        )
    if not rapid.is_installed():
        raise NotConfigured(
            "there is nothing that could read text",
            hint='pip install "ostinato[ocr]", or install tesseract-ocr and tesseract-ocr-fra.',
        )
    from importlib.metadata import version  # noqa: PLC0415 - asked once

    return Engine("rapid", version("rapidocr"), RAPID_LANGS)


@cache
def _tesseract() -> Engine | None:
    program = shutil.which("tesseract")
    if program is None:
        return None
    try:
        found = subprocess.run([program, "--version"], capture_output=True, check=True, timeout=20)  # noqa: S603 - found on the PATH
        langs = subprocess.run(  # noqa: S603 - as above
            [program, "--list-langs"], capture_output=True, check=True, timeout=20
        )
    except (OSError, subprocess.SubprocessError):
        return None
    first = (found.stdout or found.stderr).decode("utf-8", "replace").split()
    names = tuple(langs.stdout.decode("utf-8", "replace").split("\n")[1:])
    known = tuple(sorted(name.strip() for name in names if name.strip()))
    number = first[1].removeprefix("v") if len(first) > 1 else "unknown"
    return Engine("tesseract", number, known, "osd" in known, rapid.is_installed())
