"""The commands that a page names are those of this release: read by the real parser, and not run."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from ostinato._faces.cli.main import app
from tests.docs.blocks import COMMANDS, blocks, pages
from tests.house.source import ROOT, findings, text_of

CLI = ROOT / "docs" / "reference" / "cli.md"
EXAMPLE = re.compile(r"Examples?: (?P<said>(?:`[^`]+`[^`\n]{0,30})+)")
SPAN = re.compile(r"(?<!`)`(?:[A-Z_]+=\S+ )*ostinato (?P<words>[^`\n]+)`")
TYPED = re.compile(r"(?:^|[|;&(] *|\bexec )(?:[A-Z_]+=\S+ )*ostinato +(?P<words>[^\n]*)", re.MULTILINE)
ENDS = re.compile(r"[<>|;&)#]+")


def program() -> Any:  # noqa: ANN401 - as Typer has it
    return typer.main.get_command(app)


def words_of(line: str) -> list[str]:
    """The words of a command, up to what a shell does with what it says."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="<>|;&()")
    lexer.whitespace_split = True
    found: list[str] = []
    for word in lexer:
        if ENDS.fullmatch(word):
            break
        found.append(word)
    return found


def parse(words: list[str]) -> None:
    """Let the parser read a command as it does before it runs it; raises what it would say."""
    found = program()
    ctx = found.make_context("ostinato", words)
    while hasattr(found, "commands"):
        name, found, rest = found.resolve_command(ctx, [*ctx._protected_args, *ctx.args])
        ctx = found.make_context(name, rest, parent=ctx)


def refusals(page: Path) -> Iterator[str]:
    """The examples of a page that the parser refuses, and why."""
    for example in EXAMPLE.finditer(text_of(page)):
        for span in SPAN.finditer(example["said"]):
            try:
                parse(words_of(span["words"]))
            except typer.TyperException as error:
                yield f"{span[0]}: {error.format_message()}"


def named(page: Path) -> Iterator[str]:
    """The commands that a page names: in its sentences, and in the blocks that no test types."""
    yield from (span["words"] for span in SPAN.finditer(text_of(page)))
    for block in blocks(page):
        if block.tag in COMMANDS and block.reason:
            yield from (typed["words"] for typed in TYPED.finditer(block.body.replace("\\\n", " ")))


def wrong(line: str) -> str:
    """What a command of a page has that the program has not; a page may leave out what must be given."""
    found, shared = program(), {"--help", "-h"}
    ctx = typer.Context(found)
    known = shared | {name for each in found.params for name in (*each.opts, *each.secondary_opts)}
    for word in re.sub(r"[\[\]]", " ", line.partition(" -- ")[0]).split():
        if ENDS.match(word):
            break
        option = word.partition("=")[0].strip("'\",.")
        if hasattr(found, "commands") and re.fullmatch(r"[a-z][a-z-]*", word):
            child = found.get_command(ctx, word)
            if child is None:
                return f"ostinato {line}: no command {word}"
            found = child
            known |= {name for each in found.params for name in (*each.opts, *each.secondary_opts)}
        elif re.fullmatch(r"--?[a-z][a-z-]*", option) and option not in known:
            return f"ostinato {line}: no option {option}"
    return ""


def test_every_example_of_the_reference_is_one_that_the_parser_takes() -> None:
    assert len(EXAMPLE.findall(text_of(CLI))) > 100
    assert list(refusals(CLI)) == []


def test_a_command_and_an_option_that_a_page_names_are_there() -> None:
    assert findings([*pages(), CLI], lambda page: [found for line in named(page) if (found := wrong(line))]) == {}


def test_what_is_not_there_is_found() -> None:
    assert wrong("jobs list --sate dead") == "ostinato jobs list --sate dead: no option --sate"
    assert wrong("jbos list") == "ostinato jbos list: no command jbos"
    assert wrong("jobs show JOB --json > job.json --more") == ""
    with pytest.raises(typer.TyperException, match="sate"):
        parse(["jobs", "list", "--sate", "dead"])
