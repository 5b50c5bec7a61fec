"""Nothing that looks like a secret is committed, but for what is made up and listed here.

The patterns are those of the issuers that we or our users deal with, our own, and values that are
assigned to a name of a secret. A new made-up one in a test or a page gets its line in
`made_up_secrets.txt`, after somebody has looked at it; the file holds hashes, so it is none itself.
"""

import hashlib
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.source import ROOT
from tests.needs import needs

KNOWN = Path(__file__).with_name("made_up_secrets.txt")
SKIPPED = ("requirements/", "docs/reference/", "tests/house/made_up_secrets.txt", "tests/schema.snapshot.sql")
BINARY = (".png", ".jpg", ".pdf", ".svg", ".ico", ".woff2", ".gz")

# Each is linear: a fixed beginning, then one class of characters.
PATTERNS = (
    re.compile(r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----\s+[A-Za-z0-9+/=]{20}"),
    re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    re.compile(r"\bgh[pousr]_[A-Za-z0-9]{36,}"),
    re.compile(r"\bgithub_pat_[A-Za-z0-9_]{40,}"),
    re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10,}"),
    re.compile(r"\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    re.compile(r"\bSG\.[\w-]{20,}\.[\w-]{20,}"),
    re.compile(r"\bpypi-[A-Za-z0-9_-]{50,}"),
    re.compile(r"\bAIza[0-9A-Za-z_-]{35}"),
    re.compile(r"\beyJ[A-Za-z0-9_-]{20,}\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}"),
    re.compile(r"\bwhsec_[A-Za-z0-9+/=]{24,}"),
    re.compile(r"\bostk_[A-Za-z0-9_-]{43}"),
    re.compile(r"\bost_\d{1,19}_[A-Za-z0-9_-]{43}"),
    re.compile(
        r"(?i)\b(?:password|passwd|secret|api_?key|token)[\"']?\s{0,4}[=:]\s{0,4}[\"'](?=[^\"'\s]*\d)[\w+/=.-]{20,}[\"']"
    ),
)


def committed() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = [name for name in listed.split("\0") if name and not name.startswith(SKIPPED)]
    return [ROOT / name for name in names if not name.endswith(BINARY) and (ROOT / name).is_file()]


def secrets_in(text: str) -> Iterator[str]:
    for pattern in PATTERNS:
        yield from (found.group() for found in pattern.finditer(text))


def mark(path: Path, secret: str) -> str:
    return f"{hashlib.sha256(secret.encode()).hexdigest()[:16]} {path.relative_to(ROOT)}"


@needs("clone", here=(ROOT / ".git").exists(), reason="this is no clone")
def test_nothing_that_looks_like_a_secret_is_committed() -> None:
    known = set(KNOWN.read_text(encoding="utf-8").split("\n"))
    found = {
        (mark(path, secret), f"{secret[:12]}…")
        for path in committed()
        for secret in secrets_in(path.read_text(encoding="utf-8", errors="replace"))
    }

    new = sorted(f"{line}   ({beginning})" for line, beginning in found if line not in known)
    assert new == [], "revoke and remove a secret; for one that is made up add its line to made_up_secrets.txt"


def test_what_is_listed_as_made_up_is_still_there() -> None:
    known = {line for line in KNOWN.read_text(encoding="utf-8").split("\n") if line and not line.startswith("#")}
    paths = {line.split(" ", 1)[1] for line in known}

    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize(
    "secret",
    [
        "AKIA" + "Q" * 16,
        "ghp_" + "a1" * 18,
        "sk_live_" + "a1" * 12,
        "whsec_" + "A" * 44,
        "ostk_" + "A" * 43,
        "ost_7_" + "A" * 43,
        "-----BEGIN " + "PRIVATE KEY-----\n" + "A" * 64,
        'password = "' + "a1" * 12 + '"',
        "API_KEY: '" + "Zx9" * 8 + "'",
    ],
)
def test_a_secret_that_would_be_committed_is_found(secret: str) -> None:
    assert list(secrets_in(f"some text\n{secret}\n")) != []


@pytest.mark.parametrize("text", ["password = getpass()", "token: str", "secret_hint = 'hint'", 'token="x"'])
def test_what_only_speaks_of_secrets_is_none(text: str) -> None:
    assert list(secrets_in(text)) == []
