"""Reads the public modules from their source: names, signatures, docstrings.

Nothing is imported: the page must say how a signature is written, not how Python shows it, and a
part whose extra is not installed is on the page all the same.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources

MODULES = (
    "jobs",
    "steps",
    "outbox",
    "webhooks",
    "idempotency",
    "leases",
    "machines",
    "schedules",
    "brokers",
    "alerts",
    "audit",
    "erasure",
    "tenants",
    "secrets",
    "errors",
    "settings",
    "testing",
    "web",
    "database",
    "observe",
    "commands",
)
"""The public modules, in the order in which a reader needs them."""

SHORT = 40

Function = ast.FunctionDef | ast.AsyncFunctionDef
Node = Function | ast.ClassDef | ast.expr | ast.Module


@dataclass(frozen=True)
class Entry:
    """A public name: where it is defined, and what stands there."""

    module: str
    """The module of the definition, which is also where its bases and aliases are looked up."""
    name: str
    node: Node | None
    """The value of a constant; None where another library defines the name."""
    doc: str
    overloads: tuple[Function, ...] = ()


@cache
def parsed(module: str) -> ast.Module:
    """Return the syntax tree of a module of ours."""
    path = resources.files("ostinato")
    for part in module.split(".")[1:]:
        path /= part
    file = path / "__init__.py" if path.is_dir() else path.parent / f"{path.name}.py"  # type: ignore[attr-defined]  # a folder in the file system
    return ast.parse(file.read_text(encoding="utf-8"))


def names_of(module: str) -> list[str]:
    """Return what a module lists in `__all__`."""
    for node in parsed(module).body:
        if isinstance(node, ast.Assign) and "__all__" in _assigned(node):
            return list(ast.literal_eval(node.value))
    return []


@cache
def find(module: str, name: str) -> Entry:
    """Return the definition of a name, also through the modules that hand it on."""
    body = list(_statements(parsed(module)))
    for position, node in enumerate(body):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return _imported(node.module or "", alias.name)
        if isinstance(node, Function | ast.ClassDef) and node.name == name:
            return _defined(module, name, body)
        if isinstance(node, ast.Assign | ast.AnnAssign) and name in (found := _assigned(node)):
            return Entry(module, name, found[name], _text_behind(body, position))
    raise LookupError(f"{module} has no {name}")


def _statements(module: ast.Module) -> Iterator[ast.stmt]:
    """Yield the statements of a module, with those that only type checkers read."""
    for node in module.body:
        match node:
            case ast.If(ast.Name("TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
                yield from node.body
            case _:
                yield node


def _imported(module: str, name: str) -> Entry:
    if module.partition(".")[0] != "ostinato":
        return Entry(module, name, None, f"It comes from `{module}`.")
    try:
        return find(module, name)
    except LookupError:
        inner = f"{module}.{name}"
        return Entry(inner, name, parsed(inner), ast.get_docstring(parsed(inner)) or "")


def _defined(module: str, name: str, body: list[ast.stmt]) -> Entry:
    found = [each for each in body if isinstance(each, Function | ast.ClassDef) and each.name == name]
    overloads = tuple(each for each in found if isinstance(each, Function) and "overload" in decorators(each))
    return Entry(module, name, found[-1], ast.get_docstring(found[-1]) or "", overloads)


def decorators(node: Function | ast.ClassDef) -> list[str]:
    """Return the names of what decorates a function or a class, without their arguments."""
    return [ast.unparse(each).partition("(")[0].split(".")[-1] for each in node.decorator_list]


def _text_behind(body: list[ast.stmt], position: int) -> str:
    """Return the text that stands right behind an assignment, as editors show it."""
    match body[position + 1 : position + 2]:
        case [ast.Expr(ast.Constant(str(text)))]:
            return " ".join(text.split())
    return ""


def members(entry: Entry) -> Iterator[tuple[ast.stmt, str]]:
    """Yield the public members of a class with their texts; those of its bases that are private too."""
    assert isinstance(entry.node, ast.ClassDef)  # noqa: S101 - called for classes only
    for base in bases(entry):
        if home(base) is None:
            yield from members(base)
    for position, node in enumerate(entry.node.body):
        match node:
            case ast.AnnAssign(ast.Name(name), value=value) if not name.startswith("_"):
                yield node, _text_behind(entry.node.body, position) or _text_of_setting(value)
            case ast.FunctionDef(name="__init__"):
                yield from _made_in(node)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                if not name.startswith("_") and "overload" not in decorators(node):
                    yield node, ast.get_docstring(node) or ""


def _text_of_setting(value: ast.expr | None) -> str:
    """Return the description of `setting(default, description)`."""
    match value:
        case ast.Call(ast.Name("setting"), [_, ast.Constant(str(text))]):
            return text
        case ast.Call(ast.Name("setting"), keywords=keywords):
            return "".join(
                str(each.value.value)
                for each in keywords
                if each.arg == "description" and isinstance(each.value, ast.Constant)
            )
    return ""


def _made_in(init: ast.FunctionDef) -> Iterator[tuple[ast.stmt, str]]:
    """Yield the attributes that a constructor makes, if it describes them."""
    hints = {each.arg: each.annotation for each in (*init.args.args, *init.args.kwonlyargs)}
    for position, node in enumerate(init.body):
        match node:
            case ast.Assign([ast.Attribute(ast.Name("self"), name)], value):
                hint = hints.get(value.id) if isinstance(value, ast.Name) else None
            case ast.AnnAssign(ast.Attribute(ast.Name("self"), name), hint):
                pass
            case _:
                continue
        if (doc := _text_behind(init.body, position)) and not name.startswith("_"):
            yield ast.AnnAssign(ast.Name(name), hint or ast.Name(""), None, 1), doc


def bases(entry: Entry) -> list[Entry]:
    """Return the classes of ours that a class is made from."""
    assert isinstance(entry.node, ast.ClassDef)  # noqa: S101 - as above
    names = [ast.unparse(base).partition("[")[0] for base in entry.node.bases]
    known = {node.name for node in parsed(entry.module).body if isinstance(node, ast.ClassDef)}
    return [find(entry.module, name) for name in names if name in known]


@cache
def home(entry: Entry) -> str | None:
    """Return the public module that describes a name: `errors`, or the first that holds it."""
    holders = [
        module
        for module in MODULES
        for name in names_of(f"ostinato.{module}")
        if find(f"ostinato.{module}", name) == entry
    ]
    return "errors" if "errors" in holders else next(iter(holders), None)


def value_of(module: str, node: ast.expr) -> ast.expr:
    """Return the value of a default: what a constant of its module stands for, if that is short."""
    if not isinstance(node, ast.Name) or not is_constant(module, node.id):
        return node
    found = find(module, node.id).node
    return found if isinstance(found, ast.expr) and len(ast.unparse(found)) < SHORT else node


def is_constant(module: str, name: str) -> bool:
    """Return whether a module of ours assigns the name, or hands on one that is assigned."""
    try:
        return isinstance(find(module, name).node, ast.expr)
    except LookupError:
        return False


def _assigned(node: ast.Assign | ast.AnnAssign) -> dict[str, ast.expr | None]:
    """Return what an assignment gives to which names; `A, B = 1, 2` is two of them."""
    match node:
        case ast.Assign([ast.Tuple(names)], ast.Tuple(values)):
            pairs = zip(names, values, strict=True)
            return {name.id: value for name, value in pairs if isinstance(name, ast.Name)}
        case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(ast.Name(name), value=value):
            return {name: value}
    return {}
