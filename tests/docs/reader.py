"""A reader: somebody who types the commands of a page, in a folder where `ostinato up --demo` runs.

The folder is the reader's clone: it has `.venv/bin`, and `.ostinato` is that of the running system. Port 8080, which
the pages name, stands for the one that the system has here, and 8001, of the reader's own program, for a free one.
Every command must succeed, and so must every answer over HTTP; a question is answered with yes.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.docs.blocks import Block, script
from tests.faces.processes import running
from tests.ports import free_port

__all__ = ["Reader", "at_home", "without_ours"]

PORT = re.compile(r"(?<=localhost:|127\.0\.0\.1:)8080\b|(?<=http://127\.0\.0\.1:)8080\b")
OWN_PORT = re.compile(r"\b8001\b")
# What the lines `<!-- run: … -->` may use: `added` prints the id of a new job, `ended` waits until it has ended,
# `field` prints a field of JSON, and `alias ostinato=agree` is for a page on which a command asks: the reader says yes.
SHELL = """
set -eEuo pipefail
shopt -s expand_aliases
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
field() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }
added() { ostinato enqueue "$@" --json | field id; }
ended() { until ostinato jobs show "$1" --json | grep -qE '"state": "(done|dead|cancelled)"'; do :; done; }
agree() { case "$*" in erase*|jobs\\ redrive*) command ostinato "$@" --yes;; *) command ostinato "$@";; esac }
"""


def without_ours(**more: str) -> dict[str, str]:
    """The environment of a reader, who has set nothing of Ostinato's."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OSTINATO_", "PYTEST_", "PG"))}
    return kept | more


class Reader:
    """Types commands in a folder, in one shell for each page."""

    def __init__(self, folder: Path, port: int = 8080, **env: str) -> None:
        self.folder = folder
        self.port = port
        (folder / "home").mkdir(exist_ok=True)
        (folder / "home" / ".curlrc").write_text("fail-with-body\nshow-error\n")
        self.env = without_ours(HOME=str(folder / "home"), COLUMNS="160", **env)

    def types(self, found: list[Block]) -> str:
        """What the commands of a page say; each of them must succeed."""
        for block in found:
            if block.file is not None:
                (self.folder / block.file).parent.mkdir(parents=True, exist_ok=True)
                (self.folder / block.file).write_text(block.body)
        text = SHELL + OWN_PORT.sub(str(free_port()), PORT.sub(str(self.port), script(found)))
        ran = subprocess.run(
            ["bash", "-c", text],
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout[-6000:]
        return ran.stdout


@contextmanager
def at_home(folder: Path) -> Iterator[Reader]:
    """A reader beside a running system with the demo's data."""
    (folder / ".venv").symlink_to(Path(sys.prefix))
    path = f"{folder / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    with running(folder, {"OSTINATO_API_METRICS_PORT": "0"}, "up", "--demo", "--port", "0", "--json") as system:
        ready = system.event("ready")
        port = int(ready["url"].rsplit(":", 1)[1])
        yield Reader(folder, port, PATH=path, SANDBOX=ready["sandbox"])
        system.signal()
        system.rest()
        assert system.ended() == 0, system.stderr
