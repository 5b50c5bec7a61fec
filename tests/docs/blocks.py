"""The fenced blocks of the documents, and what becomes of each.

    sh, console     commands: run by tests/docs (in console, the lines that begin with `$ `; the rest is output)
    python          checked against the public names (tests/house/test_docs.py); with a file name in its first
                    line, `# shop.py`, also written there, and run by the commands that follow
    text, json …    shown only

The line before a block may say more:

    <!-- run: JOB=$(…) -->        run that first; the words that it sets stand for themselves in the block
    <!-- not run: reason -->      the block has commands that a test cannot run, and why
"""

import re
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

from tests.house.source import ROOT, shown, text_of

COMMANDS = {"sh", "console"}
CODE = {"python", "sql"}
SHOWN = {"text", "json", "toml", "yaml", "ini", "mermaid", "dockerfile"}
# A fence in a list is indented, and its lines with it.
FENCE = re.compile(
    r"^(?P<indent> *)(?P<ticks>`{3,})(?P<tag>[\w+-]*)[^\n]*\n(?P<body>.*?)^(?P=indent)(?P=ticks)$",
    re.MULTILINE | re.DOTALL,
)
MARK = re.compile(r"<!-- (?P<what>run|not run): (?P<said>[^\n]+) -->\n\n?\Z")
FILE = re.compile(r"\A(?:#|--) (?P<name>[\w/.-]+\.(?:py|sql|toml))\n")
SET = re.compile(r"(?:^|; )(\w+)=")


@dataclass(frozen=True)
class Block:
    """One block of a page."""

    page: Path
    line: int
    tag: str
    body: str
    first: str = ""
    reason: str = ""

    @property
    def place(self) -> str:
        return f"{shown(self.page)}:{self.line}"

    @property
    def file(self) -> str | None:
        """The file that the reader is asked to write."""
        found = FILE.match(self.body) if self.tag in CODE | SHOWN else None
        return found["name"] if found else None

    @property
    def commands(self) -> str:
        """What a reader types, with a shell's variables for the words that stand for something."""
        if self.tag not in COMMANDS or self.reason:
            return ""
        lines = self.body.splitlines()
        typed = "\n".join(line[2:] for line in lines if line.startswith("$ ")) if self.tag == "console" else self.body
        for word in SET.findall(self.first):
            typed = re.sub(rf"(?<![\w${{]){word}(?![\w=])", f"${{{word}}}", typed)
        return f"{self.first}\n{typed}\n"


def blocks(page: Path) -> list[Block]:
    text, found = text_of(page), []
    for fence in FENCE.finditer(text):
        mark = MARK.search(text, max(0, fence.start() - 1000), fence.start())
        said = {mark["what"]: mark["said"]} if mark else {}
        line = text.count("\n", 0, fence.start()) + 1
        found.append(
            Block(page, line, fence["tag"], dedent(fence["body"]), said.get("run", "").strip(), said.get("not run", ""))
        )
    return found


def pages() -> list[Path]:
    """The pages that people write; what is generated shows commands as examples, each tested by its own tests."""
    outside = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")]
    written = [page for page in (ROOT / "docs").rglob("*.md") if page.parent.name not in ("reference", "specs", "adr")]
    others = [*ROOT.glob("README.*.md"), *(ROOT / "examples").rglob("*.md"), *(ROOT / "deploy").rglob("*.md")]
    return sorted([*outside, *written, *others])


def script(found: list[Block]) -> str:
    """All commands of a page as a reader would type them, one block after the other."""
    parts = [f"echo '== {block.place}'\n{block.commands}" for block in found if block.commands]
    return "\n".join(parts)
