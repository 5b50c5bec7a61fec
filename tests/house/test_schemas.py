"""What is public in SQL is called by somebody, and what is internal by nobody but the engine."""

import re
from functools import cache
from pathlib import Path

from tests.house.source import PACKAGE, ROOT, findings, python_files, shown, text_of
from tests.schemas import internal_functions

ENGINE = PACKAGE / "_core" / "engine" / "sql"
# May say that the schema is there: they make it, fill it, and describe it.
NAMED_ALL_THE_SAME = {
    "src/ostinato/_core/db/roles.py": "the schemas that a database needs",
    "src/ostinato/_core/db/sql/roles.sql": "makes the schemas",
    "src/ostinato/_core/engine/schema.py": "where the engine's functions live",
}
# Public, though nothing here calls it.
FOR_OTHERS = {
    "fail_job": "the verb for one job, beside complete_job, for workers in other languages",
    "rescue_jobs": "the first part of poll_jobs alone, for workers in other languages and for tests",
    "promote_jobs": "the second part of poll_jobs alone, likewise",
    "mend_webhooks": "the name of heal_webhooks that workers of 0.1.0 call",
    "last_position": "how far the log of events goes, for people and consumers in other languages",
    "allowed_events": "what may happen to a row next, for people",
}


@cache
def public_functions() -> frozenset[str]:
    texts = [path.read_text(encoding="utf-8") for path in (ENGINE / "functions").glob("*.sql")]
    return frozenset(re.findall(r"^create function ostinato\.(\w+)", "\n".join(texts), re.MULTILINE))


def other_sql() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.sql") if ENGINE not in path.parents)


def documents() -> list[Path]:
    folders = [ROOT / name for name in ("docs", "examples", "bench", "deploy")]
    found = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return [path for path in found if path.suffix in {".md", ".py", ".sql"}]


def helpers_called(path: Path) -> list[str]:
    """A call by name goes to `ostinato`; this finds one that is written out."""
    return sorted(internal_functions().intersection(re.findall(r"\bostinato\.(\w+)\s*\(", text_of(path))))


def test_nothing_but_the_engines_sql_names_the_internal_schema() -> None:
    named = {shown(path) for path in (*python_files(), *other_sql()) if "ostinato_internal" in text_of(path)}

    assert named <= set(NAMED_ALL_THE_SAME)


def test_python_and_applications_call_verbs_only() -> None:
    assert findings((*python_files(), *other_sql()), helpers_called) == {}


def test_a_verb_is_called_by_python_an_application_or_a_document() -> None:
    called = set(FOR_OTHERS)
    for path in python_files():
        text = path.read_text(encoding="utf-8")
        called |= set(re.findall(r"""["'](\w+)["']""", text))
        called |= set(re.findall(r"\bostinato\.(\w+)", text))
    for path in [*other_sql(), *documents()]:
        if path.name != "sql.md":
            text = path.read_text(encoding="utf-8", errors="ignore")
            called |= set(re.findall(r"\bostinato\.(\w+)", text))

    helpers = public_functions() - called

    assert helpers == set(), "move them to ostinato_internal, or say for whom they are"


def test_a_number_that_has_a_name_stands_in_one_place() -> None:
    bare = re.compile(
        r"\b(262144|65536|1048576|260000|8192|31536000|10000000000|70000000000|9223372036854775807"
        r"|crashes >= 2|\* 7 / 15)\b"
    )
    files = [path for path in (ENGINE / "functions").glob("*.sql") if path.name != "constants.sql"]

    assert findings(files, lambda path: bare.findall(text_of(path))) == {}, "constants.sql has its name"


def test_no_name_is_in_both_schemas() -> None:
    assert public_functions().isdisjoint(internal_functions())


def test_the_reference_lists_every_verb_and_no_helper() -> None:
    text = (ROOT / "docs" / "reference" / "sql.md").read_text(encoding="utf-8")

    listed = set(re.findall(r"^\| `ostinato\.(\w+)` \|", text, re.MULTILINE))

    assert listed == set(public_functions())
