"""Writes docs/reference/python.md from the docstrings of the public modules."""

import ast
import re
import textwrap
from collections.abc import Iterator

from tools import surface
from tools.surface import MODULES, Entry, Function, decorators

WIDTH = 100
LONGEST_VALUE = 120
_INTRO = """\
These modules are what users and applications import; whatever begins with an underscore may change
at any time. `AsyncConnection` is psycopg's, in any transaction of yours; `def` functions need no
`await`, and `async with` marks those that are entered.
"""


def page() -> str:
    """Write the whole page."""
    contents = "".join(
        f"{_filled(f'- [`ostinato.{name}`](#ostinato{name}): {_purpose(name)}', '  ')}\n" for name in MODULES
    )
    sections = "\n".join(_module(name) for name in MODULES)
    return f"# Python\n\n{_INTRO}\n{contents}\n{_front()}\n{sections}"


def _purpose(name: str) -> str:
    first = (ast.get_docstring(surface.parsed(f"ostinato.{name}")) or "").partition("\n")[0]
    _, _, rest = first.partition(": ")
    return rest or first


def _front() -> str:
    names = ", ".join(_link(surface.find("ostinato", name)) for name in surface.names_of("ostinato"))
    return f"## `ostinato`\n\n{_module_text('ostinato')}\n{_filled(f'Names: {names}.')}\n"


def _module(name: str) -> str:
    module = f"ostinato.{name}"
    entries = [surface.find(module, each) for each in surface.names_of(module)]
    own = [each for each in entries if surface.home(each) == name]
    others = [each for each in entries if surface.home(each) != name]
    parts = [f"## `{module}`\n", _module_text(module)]
    if others:
        parts.append(_filled(f"Also here: {', '.join(map(_link, others))}.") + "\n")
    parts.extend(_described(name, own))
    return "\n".join(parts)


def _described(prefix: str, entries: list[Entry]) -> Iterator[str]:
    yield from (_function(each) for each in entries if isinstance(each.node, Function))
    for each in entries:
        match each.node:
            case ast.ClassDef():
                yield _class(prefix, each)
            case ast.Module():
                yield f"### `{prefix}.{each.name}`\n\n{_module_text(each.module)}"
                inner = [surface.find(each.module, one) for one in surface.names_of(each.module)]
                yield from _described(each.name, inner)
    rest = [each for each in entries if isinstance(each.node, ast.expr | None)]
    if rest:
        yield f"Types and constants of `{prefix}`:\n"
        yield "".join(_bullet(_constant(each), each.doc) for each in rest)


def _link(entry: Entry) -> str:
    home = surface.home(entry)
    anchor = f"{home}{entry.name.lower()}" if isinstance(entry.node, ast.ClassDef) else None
    return f"[`{entry.name}`](#{anchor or f'ostinato{home}'})"


def _module_text(module: str) -> str:
    """Write the purpose and example of a module: what is indented in its docstring is code."""
    text = ast.get_docstring(surface.parsed(module)) or ""
    blocks = re.split(r"((?:^(?: {4}.*)?\n)+)", f"{text}\n", flags=re.MULTILINE)
    shown = []
    for block in blocks:
        if block.startswith("    ") or (block.strip() and block.strip("\n").startswith("    ")):
            shown.append(f"```python\n{textwrap.dedent(block).strip()}\n```\n")
        elif block.strip():
            shown.append(f"{block.strip()}\n")
    return "\n".join(shown)


def _function(entry: Entry) -> str:
    nodes = entry.overloads or (entry.node,)
    written = [_signature(entry, node) for node in nodes if isinstance(node, Function)]
    return f"```python\n{chr(10).join(written)}\n```\n\n{_paragraph(entry.doc)}\n"


def _class(prefix: str, entry: Entry) -> str:
    assert isinstance(entry.node, ast.ClassDef)  # noqa: S101 - its caller looked
    known = [base for base in surface.bases(entry) if surface.home(base)]
    title = f"### `{prefix}.{entry.name}`\n"
    head = f"It is a kind of {_link(known[0])}. " if known else ""
    parts = [title, f"{_filled(f'{_paragraph(entry.doc)} {head}')}\n"]
    if "Made by" not in entry.doc:
        parts += [
            f"```python\n{_signature(entry, each, entry.name)}\n```\n"
            for each in entry.node.body
            if isinstance(each, Function) and each.name == "__init__"
        ]
    parts.append("".join(_members(entry)))
    return "\n".join(parts).rstrip("\n") + "\n"


def _members(entry: Entry) -> Iterator[str]:
    """Write a line for each member; fields without a description share one."""
    bare: list[str] = []
    for node, doc in surface.members(entry):
        if doc and bare:
            yield _filled(f"- {', '.join(bare)}", "  ") + "\n"
            bare = []
        if doc:
            yield _bullet(_written(entry, node), doc)
        else:
            bare.append(f"`{_written(entry, node)}`")
    if bare:
        yield _filled(f"- {', '.join(bare)}", "  ") + "\n"


def _written(entry: Entry, node: ast.stmt) -> str:
    if isinstance(node, Function):
        if {"property", "cached_property"} & set(decorators(node)):
            return f"{node.name}: {_type(entry, node.returns)}"
        return " ".join(_signature(entry, node, fold=False).split())
    assert isinstance(node, ast.AnnAssign)  # noqa: S101 - all that is left
    assert isinstance(node.target, ast.Name)  # noqa: S101 - as above
    hint = _type(entry, node.annotation)
    default = _default(node.value)
    return f"{node.target.id}{f': {hint}' if hint else ''}{default}"


def _default(value: ast.expr | None) -> str:
    if value is None:
        return ""
    if isinstance(value, ast.Call) and ast.unparse(value.func) in {"field", "setting"}:
        given = [each.value for each in value.keywords if each.arg == "default"] + value.args[:1]
        return f" = {ast.unparse(given[0])}" if given else ""
    return f" = {ast.unparse(value)}"


def _constant(entry: Entry) -> str:
    if not isinstance(entry.node, ast.expr):
        return entry.name
    value = ast.unparse(entry.node)
    computed = any(isinstance(each, ast.GeneratorExp) for each in ast.walk(entry.node))
    return entry.name if computed or len(value) > LONGEST_VALUE else f"{entry.name} = {value}"


def _signature(entry: Entry, node: Function, name: str = "", *, fold: bool = True) -> str:
    found = set(decorators(node))
    result = _type(entry, node.returns)
    start = "async def " if isinstance(node, ast.AsyncFunctionDef) else "def "
    if "asynccontextmanager" in found or result.startswith("AbstractAsyncContextManager"):
        start, result = "async with ", _inside(result)
    elif "contextmanager" in found or result.startswith("AbstractContextManager"):
        start, result = "with ", _inside(result)
    takes = [_parameter(entry, each) for each in _parameters(node)]
    for unsaid in ("self", "cls", "/"):
        takes = takes[1:] if takes[:1] == [unsaid] else takes
    after = f" -> {result}" if result and not name else ""
    begin = f"{start}{node.name}" if not name else f"class {name}"
    line = f"{begin}({', '.join(takes)}){after}"
    if not fold or len(line) <= WIDTH:
        return line
    folded = "".join(f"    {each},\n" for each in takes)
    return f"{begin}(\n{folded}){after}"


def _parameters(node: Function) -> Iterator[tuple[str, ast.arg | None, ast.expr | None]]:
    """Yield each parameter: its stars, its name and hint, its default; `/` and `*` stand alone."""
    args = node.args
    plain = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(plain) - len(args.defaults)) + list(args.defaults)
    for position, (each, default) in enumerate(zip(plain, defaults, strict=True), 1):
        yield "", each, default
        if position == len(args.posonlyargs):
            yield "/", None, None
    if args.vararg:
        yield "*", args.vararg, None
    elif args.kwonlyargs:
        yield "*", None, None
    for each, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        yield "", each, default
    if args.kwarg:
        yield "**", args.kwarg, None


def _parameter(entry: Entry, parameter: tuple[str, ast.arg | None, ast.expr | None]) -> str:
    stars, arg, default = parameter
    if arg is None:
        return stars
    hint = _type(entry, arg.annotation)
    given = f" = {ast.unparse(surface.value_of(entry.module, default))}" if default else ""
    return f"{stars}{arg.arg}{f': {hint}' if hint else ''}{given}"


def _type(entry: Entry, annotation: ast.expr | None) -> str:
    return "" if annotation is None else _cleaned(entry.module, ast.unparse(annotation))


def _cleaned(module: str, text: str) -> str:
    """Return a type as a reader needs it: no quotes around it, no parameters of the driver's rows."""
    text = re.sub(r"^'(.*)'$", r"\1", text)
    text = re.sub(r"\b(\w*Connection)\[Any\]", r"\1", text)
    if surface.is_constant(module, "Connection"):  # an alias, in the modules of the engine
        text = re.sub(r"(?<![.\w])Connection\b", "AsyncConnection", text)
    return text


def _inside(iterator: str) -> str:
    """Return what a block gets: X of `AsyncIterator[X]`."""
    return re.sub(r"^\w+\[(.*)\]$", r"\1", iterator)


def _bullet(code: str, doc: str) -> str:
    text = f"- `{code}`" + (f": {_paragraph(doc)}" if doc else "")
    return _filled(text, "  ") + "\n"


def _filled(text: str, indent: str = "") -> str:
    return textwrap.fill(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _paragraph(doc: str) -> str:
    first = doc.strip().partition("\n\n")[0]
    return " ".join(first.split())
