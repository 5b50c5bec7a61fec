"""What code in documents uses of ours: it must be there, and take what it is given.

Nothing is run. Names get a meaning from imports, from `x = Class(…)`, and from what every page
calls the same (`ctx`, `client`, `conn` …); what stays unknown is not judged.
"""

import ast
import contextlib
import importlib
import inspect
import pkgutil
import textwrap
import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass

import ostinato
from ostinato.commands import Cli
from ostinato.idempotency import Once
from ostinato.jobs import App, Client, Context, Job, JobKind
from ostinato.leases import HeldLease
from ostinato.outbox import Event
from ostinato.testing import Engine, Report
from ostinato.web import Caller


@dataclass(frozen=True)
class Of:
    """A value of which only the class is known."""

    cls: type


USUAL: dict[str, object] = {
    "app": Of(App),
    "caller": Of(Caller),
    "cli": Of(Cli),
    "client": Of(Client),
    "ctx": Of(Context),
    "engine": Of(Engine),
    "event": Of(Event),
    "job": Of(Job),
    "lease": Of(HeldLease),
    "report": Of(Report),
    "request": Of(Once),
}


def parse(code: str) -> ast.Module:
    """Blocks may await, yield and return, and go on where the one before ended."""
    return ast.parse(f"async def page():\n    pass\n{textwrap.indent(code, '    ')}")


def imports(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Each module of ours that code imports, or imports a name from, and the name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((each.name, "") for each in node.names if _is_ours(each.name))
        elif isinstance(node, ast.ImportFrom) and _is_ours(node.module or ""):
            yield from ((node.module or "", each.name) for each in node.names)


def misuses(code: str) -> list[str]:
    """What is not there, and calls that cannot be made."""
    tree = parse(code)
    known = _names(tree)
    wrong = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            owner = _meaning(node.value, known)
            if owner is not None and not _has(owner, node.attr):
                wrong.append(f"{ast.unparse(node)}: there is no {node.attr}")
        elif isinstance(node, ast.Call):
            wrong += _refused(node, known)
    return wrong


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "ostinato"


def _names(tree: ast.Module) -> dict[str, object]:
    known = USUAL | dict(_imported(tree))
    for node in ast.walk(tree):
        match node:
            case ast.Assign([ast.Name(name)], ast.Call() as made):
                _forget(known, name)
                if isinstance(cls := _meaning(made.func, known), type):
                    known[name] = Of(cls)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                if any(_is_job(each, known) for each in node.decorator_list):
                    known[name] = Of(JobKind)
    return known


def _imported(tree: ast.Module) -> Iterator[tuple[str, object]]:
    """What code imports of ours, by its name there; an error where something is not there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                if _is_ours(each.name):
                    found = importlib.import_module(each.name)
                    yield each.asname or "ostinato", found if each.asname else ostinato
        elif isinstance(node, ast.ImportFrom) and _is_ours(node.module or ""):
            for each in node.names:
                yield each.asname or each.name, pkgutil.resolve_name(f"{node.module}.{each.name}")


def _forget(known: dict[str, object], name: str) -> None:
    """A name that is given another meaning is not judged, unless it is what pages call so."""
    known.pop(name, None)
    if name in USUAL:
        known[name] = USUAL[name]


def _is_job(decorator: ast.expr, known: dict[str, object]) -> bool:
    match decorator:
        case ast.Call(ast.Attribute(value, "job")):
            return _meaning(value, known) == Of(App)
    return False


def _meaning(node: ast.expr, known: dict[str, object]) -> object | None:
    """A module, class or function of ours, or `Of` a class; None: not known."""
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if not isinstance(node, ast.Attribute):
        return None
    owner = _meaning(node.value, known)
    if isinstance(owner, types.ModuleType):
        return getattr(owner, node.attr, None)
    if isinstance(owner, Of):
        return _attribute(owner.cls, node.attr)
    return None


def _attribute(cls: type, name: str) -> object | None:
    """What an attribute of a value is: `Of` a class where its hint says so, a method, or None."""
    found = inspect.getattr_static(cls, name, None)
    if isinstance(found, property):
        hint = inspect.signature(found.fget).return_annotation if found.fget else None
        return Of(hint) if isinstance(hint, type) and _is_ours(hint.__module__) else None
    if isinstance(found, types.FunctionType):
        return types.MethodType(found, object())
    with contextlib.suppress(NameError, TypeError):
        # An attribute is often a parameter of the constructor, by the same name.
        made = inspect.getattr_static(cls, "__init__")
        hints = typing.get_type_hints(made) | typing.get_type_hints(cls)
        hint = hints.get(name)
        return Of(hint) if isinstance(hint, type) and _is_ours(hint.__module__) else None
    return None


def _has(owner: object, name: str) -> bool:
    if isinstance(owner, types.ModuleType):
        return hasattr(owner, name)
    cls = owner.cls if isinstance(owner, Of) else owner
    return not isinstance(cls, type) or hasattr(cls, name) or name in _made(cls)


def _made(cls: type) -> set[str]:
    """The attributes of a value: annotated in its class, in a slot, or set by a method."""
    found: set[str] = set()
    for each in cls.__mro__[:-1]:
        found |= set(inspect.get_annotations(each)) | set(vars(each).get("__slots__", ()))
        with contextlib.suppress(OSError, TypeError):
            tree = ast.parse(textwrap.dedent(inspect.getsource(each)))
            found |= {
                node.attr
                for node in ast.walk(tree)
                if isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == "self"
                and isinstance(node.ctx, ast.Store)
            }
    return found


def _refused(node: ast.Call, known: dict[str, object]) -> list[str]:
    function = _meaning(node.func, known)
    if isinstance(function, Of | types.ModuleType | None) or not callable(function):
        return []
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return []
    words = [each.arg for each in node.keywords if each.arg is not None]
    spread = len(words) < len(node.keywords) or any(isinstance(each, ast.Starred) for each in node.args)
    bind = signature.bind_partial if spread else signature.bind
    given = [None for each in node.args if not isinstance(each, ast.Starred)]
    try:
        bind(*given, **dict.fromkeys(words))
    except TypeError as error:
        return [f"{ast.unparse(node)}: {error}"]
    taken = _keywords(signature)
    unknown = [] if taken is None else sorted(set(words) - taken)
    return [f"{ast.unparse(node)}: there is no {', '.join(unknown)}"] if unknown else []


def _keywords(signature: inspect.Signature) -> set[str] | None:
    """The keywords that a function takes, `**options` of a TypedDict spelled out; None: any."""
    found = set(signature.parameters)
    for each in signature.parameters.values():
        if each.kind is inspect.Parameter.VAR_KEYWORD:
            (options,) = typing.get_args(each.annotation) or (None,)
            if not typing.is_typeddict(options):
                return None
            found |= set(typing.get_type_hints(options))
    return found
