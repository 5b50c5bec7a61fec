"""Every block of every page is run, checked, or says why not; tests/docs/blocks.py has the convention."""

import re
from functools import cache
from pathlib import Path

from tests.docs.blocks import CODE, COMMANDS, SHOWN, Block, blocks, pages
from tests.house.source import ROOT, findings, text_of

FUNCTION = re.compile(r"\bostinato\.([a-z_]+)\(")
LOOKS_TYPED = re.compile(
    r"^(?:\$ )?(?:ostinato|curl|pip|python3?|make|psql|pg_\w+|git|docker|helm|kubectl) ", re.MULTILINE
)


def trouble(block: Block) -> str:
    if not block.tag:
        return "it has no tag: sh for commands (they are run), text for the rest"
    if block.tag not in COMMANDS | CODE | SHOWN:
        return f"{block.tag} is no tag of ours"
    if block.reason and block.tag not in COMMANDS:
        return "only commands are not run"
    if block.tag == "text" and LOOKS_TYPED.search(block.body):
        return "commands are tagged sh"
    return ""


def unmarked(page: Path) -> list[str]:
    return [f"{block.line}: {said}" for block in blocks(page) if (said := trouble(block))]


def test_every_block_of_every_page_is_run_or_says_why_not() -> None:
    assert findings(pages(), unmarked) == {}


def test_a_reason_is_a_sentence_and_rare() -> None:
    all_of_them = [block for page in pages() for block in blocks(page) if block.tag in COMMANDS]
    left_out = [block for block in all_of_them if block.reason]

    assert [block.place for block in left_out if len(block.reason) < 15] == []
    assert len(left_out) < len(all_of_them) / 3


def unknown_functions(page: Path) -> list[str]:
    shown = [block for block in blocks(page) if block.tag in {"sql"} | COMMANDS]
    named = {name for block in shown for name in FUNCTION.findall(block.body)}
    return sorted(named - documented())


@cache
def documented() -> frozenset[str]:
    return frozenset(FUNCTION.findall(text_of(ROOT / "docs" / "reference" / "sql.md")))


def test_the_functions_that_sql_on_a_page_calls_are_there() -> None:
    assert len(documented()) > 100
    assert findings(pages(), unknown_functions) == {}
