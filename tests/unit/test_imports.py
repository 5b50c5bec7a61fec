"""What importing the commands brings along: people wait for it at every command."""

import subprocess
import sys

import pytest

LOADED = "import ostinato._faces.cli.main, sys; print(*sys.modules)"


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    ran = subprocess.run(  # our own interpreter
        [sys.executable, "-c", LOADED], capture_output=True, text=True, check=True
    )
    return set(ran.stdout.split())


def test_a_command_does_not_import_the_applications(loaded: set[str]) -> None:
    assert [name for name in loaded if name.startswith("ostinato.apps.")] == []


def test_a_command_does_not_import_the_api(loaded: set[str]) -> None:
    assert {"fastapi", "uvicorn", "httpx", "psutil", "cryptography"} & loaded == set()
