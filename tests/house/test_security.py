"""What must never be in the code, because one slip with it is an incident."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.source import calls, dotted, findings, nodes, python_files

# reading a value with these can run code
FORBIDDEN_IMPORTS = {"pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle"}
FORBIDDEN_CALLS = {"eval", "exec", "os.system", "os.popen", "yaml.load", "yaml.unsafe_load", "tempfile.mktemp"}
SECRET = re.compile(r"(?:^|_)(?:digest|hmac|mac|password|secret|api_key|signature|key_hash|csrf)$")


def imports(path: Path) -> Iterator[str]:
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def is_built_at_run_time(node: ast.AST) -> bool:
    """An f-string, a concatenation, a `%` or a `.format()`."""
    if isinstance(node, ast.JoinedStr):
        return any(isinstance(part, ast.FormattedValue) for part in node.values)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Add | ast.Mod)
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"format", "join", "replace"}
        # psycopg.sql composes with quoting: sql.SQL("…").format(sql.Identifier(name))
        and not (isinstance(node.func.value, ast.Call) and dotted(node.func.value.func).endswith("SQL"))
    )


def dangers(path: Path) -> list[str]:
    called = {dotted(call.func) for call in calls(path)}
    return sorted(FORBIDDEN_IMPORTS & set(imports(path)) | FORBIDDEN_CALLS & called)


def shells(path: Path) -> list[int]:
    return [
        call.lineno
        for call in calls(path)
        for keyword in call.keywords
        if keyword.arg == "shell" and not (isinstance(keyword.value, ast.Constant) and keyword.value.value is False)
    ]


def built_statements(path: Path) -> list[int]:
    return [
        call.lineno
        for call in calls(path)
        if isinstance(call.func, ast.Attribute)
        and call.func.attr in {"execute", "executemany", "copy", "stream"}
        and call.args
        and is_built_at_run_time(call.args[0])
    ]


def built_templates(path: Path) -> list[int]:
    return [
        call.lineno
        for call in calls(path)
        if dotted(call.func) in {"SQL", "sql.SQL", "psycopg.sql.SQL"}
        and call.args
        and is_built_at_run_time(call.args[0])
    ]


def compared_secrets(path: Path) -> list[int]:
    return [
        node.lineno
        for node in nodes(path)
        if isinstance(node, ast.Compare)
        and any(isinstance(op, ast.Eq | ast.NotEq) for op in node.ops)
        and any(SECRET.search(dotted(side).rpartition(".")[2]) for side in (node.left, *node.comparators))
    ]


def test_nothing_is_read_that_could_run_code() -> None:
    assert findings(python_files(), dangers) == {}


def test_no_command_goes_through_a_shell() -> None:
    assert findings(python_files(), shells) == {}


def test_no_statement_is_put_together_from_text() -> None:
    assert findings(python_files(), built_statements) == {}


def test_psycopg_templates_are_constants() -> None:
    """`sql.SQL(f"…{name}…")` would undo the quoting that `sql` is there for."""
    assert findings(python_files(), built_templates) == {}


def test_secrets_are_compared_in_constant_time() -> None:
    assert findings(python_files(), compared_secrets) == {}, "use hmac.compare_digest"


@pytest.mark.parametrize(
    ("code", "built"),
    [
        ("f'select {x}'", True),
        ("'select ' + x", True),
        ("'select %s' % x", True),
        ("'select {}'.format(x)", True),
        ("sql.SQL('select {}').format(sql.Identifier(x))", False),
        ("'select 1'", False),
        ("statement", False),
    ],
)
def test_the_scan_knows_built_text_from_plain_text(code: str, built: bool) -> None:  # noqa: FBT001
    assert is_built_at_run_time(ast.parse(code, mode="eval").body) is built
