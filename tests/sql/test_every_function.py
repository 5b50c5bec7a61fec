"""No verb is left without a test that calls it, and no function without a comment; helpers are tested by verbs."""

import re
from pathlib import Path

from tests.sql.engine import Session

HERE = Path(__file__).parent


def test_every_verb_is_called_by_a_test(admin: Session) -> None:
    texts = "\n".join(path.read_text(encoding="utf-8") for path in HERE.glob("*.py"))
    called = set(re.findall(r"""(?:\bostinato(?:_internal)?\.|["'])(\w+)["'(]""", texts))
    functions = admin.rows("select distinct proname from pg_proc where pronamespace = 'ostinato'::regnamespace")

    missing = {row["proname"] for row in functions} - called

    assert missing == set()


def test_every_function_says_what_it_does(admin: Session) -> None:
    """In the file: a comment line right above each."""
    folder = HERE.parents[1] / "src" / "ostinato" / "_core" / "engine" / "sql" / "functions"
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.sql"))]

    silent = [
        name
        for text in texts
        for above, name in re.findall(r"(.*)\ncreate function (ostinato\w*\.\w+)", text)
        if not above.startswith("--")
    ]

    assert texts
    assert silent == []
