"""A function that is a whole request enters its tenant before anything else (`requests.sql`)."""

import re
from pathlib import Path

import pytest

from tests.house.source import findings, function_files, text_of

FUNCTION = re.compile(r"^create function (?P<name>[\w.]+)\s*\((?P<rest>.*?)^\$\$;", re.DOTALL | re.MULTILINE)
PARAMETERS = r"\s*as_tenant text,\s+as_correlation text,\s+as_user text,\s+as_key bigint\b"
ENTERED = r"\s*(#variable_conflict \w+\s+)?(declare\b(?P<declared>.*?))?\bbegin\s+perform ostinato\.enter_tenant\("
ARGUMENTS = r"as_tenant, as_correlation, as_user, as_key\);"


def faults(source: str) -> list[str]:
    """What is wrong with the functions of a file that say as whom they act."""
    found = []
    for each in FUNCTION.finditer(source):
        head, _, body = each["rest"].partition("$$")
        if not each["name"].endswith("_as") and "as_tenant" not in head:
            continue
        if each["name"] == "ostinato.act_as":
            continue  # the audit's: it names an actor, and gives no right
        entered = re.match(ENTERED + ARGUMENTS, body, re.DOTALL)
        wrong = {
            "is not named _as": not each["name"].endswith("_as"),
            "does not take the four parameters first": not re.match(PARAMETERS, head),
            "runs with the rights of its owner": "security definer" in head,
            "is not plpgsql": "language plpgsql" not in head,
            "does not enter its tenant first": entered is None,
            "declares a value before it has entered": entered is not None and ":=" in (entered["declared"] or ""),
        }
        found += [f"{each['name']} {what}" for what, is_so in wrong.items() if is_so]
    return found


def test_every_function_that_says_as_whom_enters_its_tenant_first() -> None:
    def broken(path: Path) -> list[str]:
        return faults(text_of(path))

    assert findings(function_files(), broken) == {}
    assert sum("as_tenant text" in text_of(path) for path in function_files()) > 0


GOOD = """create function billing.accept_as(
    as_tenant text, as_correlation text, as_user text, as_key bigint, number integer
) returns void language plpgsql
set search_path = billing, pg_catalog, pg_temp as $$
declare
    v_id bigint;
begin
    perform ostinato.enter_tenant(as_tenant, as_correlation, as_user, as_key);
    insert into invoice values (number);
end
$$;
"""


@pytest.mark.parametrize(
    ("what", "instead"),
    [
        ("accept_as", "accept"),
        ("as_user text, as_key bigint", "as_user text"),
        ("language plpgsql", "language plpgsql security definer"),
        ("v_id bigint;", "v_id bigint := (select max(id) from invoice);"),
        ("begin\n", "begin\n    delete from invoice;\n"),
        ("enter_tenant(as_tenant, as", "enter_tenant('acme', as"),
    ],
)
def test_a_function_that_does_not_is_found(what: str, instead: str) -> None:
    assert faults(GOOD) == []
    assert faults(GOOD.replace(what, instead)) != []
