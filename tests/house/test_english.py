"""English that a stranger reads once: what a function does is its first word, and a word has one meaning."""

import ast
import re
from collections import Counter
from pathlib import Path

from tests.house.source import PACKAGE, ROOT, dotted, findings, function_files, nodes, python_files, text_of, tool_files

# What a noun, or a sentence without a subject, begins with. "Return the jobs that …" instead of "The jobs that …".
NO_VERB = re.compile(
    r"(?:The|An?|As|What|Whether|How|Each|Every|Everything|All|Where|When|Why|Who|Whose|Which|None|Its|One|Those|That|Since"
    r"|Only|Of|By|In|On|No|Some|Such|This|These|Many|From|To|With|Without|Seconds|More|Also|At"
    r"|Another|Until|Is|It|We|Ours|Somebody|Nobody|Not|Exactly|So|For|Over|Up|Two|Their|Nothing|Active|Arguments|Bulk|Connections"
    r"|Databases|Dead|Error|Errors|JSON|Jobs|Numbers|Purpose|Segments|Texts?|Words)\b"
)
# "Run one job; whether it succeeded": the second half lacks its verb.
NO_SECOND_VERB = re.compile(r"; (?:whether|how many|its id)\b")
# Words that ask the reader to decode; a file of tables that was released is never edited.
DECODED = re.compile(r"\bwhoever\b|\bin (?:the |its |his )?hands\b", re.IGNORECASE)
FUNCTION = re.compile(r"((?:^--[^\n]*\n)+)^create function \w+\.(\w+)", re.MULTILINE)


def is_property(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any("property" in dotted(each) for each in function.decorator_list)


def without_verb(path: Path) -> list[str]:
    """The functions of a file whose docstring begins with a noun; a property is one."""
    return [
        f"{node.name}: {text.splitlines()[0]}"
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and not is_property(node)
        and (text := ast.get_docstring(node))
        and (NO_VERB.match(text) or NO_SECOND_VERB.search(text.partition("\n")[0]))
    ]


def verbs_without_verb(path: Path) -> list[str]:
    """The SQL functions of a file whose comment begins with a noun."""
    return [name for said, name in FUNCTION.findall(text_of(path)) if NO_VERB.match(said.removeprefix("-- "))]


def test_a_docstring_begins_with_what_the_function_does() -> None:
    assert findings((*python_files(), *tool_files()), without_verb) == {}, (
        "begin with a verb, as Return, Yield, Open or Make"
    )


def test_the_comment_of_an_sql_function_begins_with_what_it_does() -> None:
    """But for the constants: those are named numbers."""
    files = [path for path in function_files() if path.name != "constants.sql"]

    assert sum(len(FUNCTION.findall(text_of(path))) for path in files) > 600, (
        "the pattern finds the functions no longer"
    )
    assert findings(files, verbs_without_verb) == {}, "begin with a verb, as Returns, Adds or Notes"


def test_the_package_has_no_words_that_ask_to_be_decoded() -> None:
    files = [path for kind in ("py", "sql", "html", "po") for path in PACKAGE.rglob(f"*.{kind}")]

    wanted = sorted(path for path in files if path.parent.name != "tables")
    assert findings(wanted, lambda path: DECODED.findall(text_of(path))) == {}, "name who or what does it, and holds it"


def test_a_word_stands_in_the_glossary_once() -> None:
    parts = re.split(r"^## ", (ROOT / "docs" / "glossary.md").read_text("utf-8"), flags=re.MULTILINE)

    for part in parts:  # a thing and a verb may share a word: a claim is what claiming makes
        cells = [line.split("|")[1] for line in part.splitlines() if line.startswith("| **")]
        words = Counter(word for cell in cells for word in re.findall(r"\*\*[^*]+\*\*[^,]*", cell))
        assert [word for word, times in words.items() if times > 1] == [], part.splitlines()[0]
