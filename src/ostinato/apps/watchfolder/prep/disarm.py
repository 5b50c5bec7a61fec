"""Takes out of a PDF what acts by itself: scripts, programs to start, XFA forms, files inside.

Every object of the file is looked at, whatever it hangs from: an action may sit on the document, a
page, an annotation, a field, a bookmark, or behind another action. Links to a place in the document
and to web pages stay, since nothing happens before somebody follows one.
"""

from collections.abc import Iterator
from typing import Any

import pikepdf

ACTIONS = {"/JavaScript", "/Launch", "/SubmitForm", "/ImportData", "/GoToE", "/GoToR"}
ACTIONS |= {"/Rendition", "/Movie", "/Sound", "/RichMediaExecute"}
"""What an action must not do (its /S)."""
ANNOTATIONS = {"/FileAttachment", "/Screen", "/Movie", "/Sound", "/RichMedia", "/3D"}
OF_DOCUMENT = ("/AA", "/AF", "/Collection")
OF_NAMES = ("/JavaScript", "/EmbeddedFiles", "/Renditions", "/AlternatePresentations")
DEEPEST = 400


def disarm(pdf: pikepdf.Pdf) -> int:
    """Take out what acts by itself; returns how much that was."""
    taken = _drop(pdf.Root, OF_DOCUMENT) + _drop(pdf.Root.get("/Names"), OF_NAMES)
    if not isinstance(pdf.Root.get("/OpenAction"), pikepdf.Array):  # that is only the page at which it opens
        taken += _drop(pdf.Root, ("/OpenAction",))
    for page in pdf.pages:
        taken += _drop(page.obj, ("/AA", "/AF"))
        _drop(page.obj, ("/Trans",))
    for each in pdf.objects:
        taken += _clean(each, 0)
    return taken


def _clean(value: Any, depth: int) -> int:  # noqa: ANN401 - any object of a PDF
    """Look at one object and what is written inside of it; others are looked at by themselves."""
    if depth > DEEPEST:
        raise ValueError("objects are nested too deeply")
    taken = 0
    for place, inner in _inside(value):
        if _is_armed(place, inner):
            del value[place]
            taken += 1
        elif isinstance(inner, pikepdf.Object) and not inner.is_indirect:
            taken += _clean(inner, depth + 1)
    return taken


def _inside(value: Any) -> Iterator[tuple[Any, Any]]:  # noqa: ANN401 - as above
    """Yield what an object holds, last first, so that a place can be deleted meanwhile."""
    if isinstance(value, pikepdf.Dictionary | pikepdf.Stream):
        yield from [(name, value.get(name)) for name in list(value.keys())]
    elif isinstance(value, pikepdf.Array):
        for number in range(len(value) - 1, -1, -1):
            yield number, value[number]


def _is_armed(place: object, value: Any) -> bool:  # noqa: ANN401 - as above
    if place == "/XFA":
        return isinstance(value, pikepdf.Array | pikepdf.Stream)
    if place == "/AF":
        return any(_is_file(each) for _, each in _inside(value)) or _is_file(value)
    if not isinstance(value, pikepdf.Dictionary):
        return False
    if place == "/EF":
        return True
    if place == "/AA":  # an object of this name in a list of fonts has a type
        return "/Type" not in value and "/Subtype" not in value
    return _name(value, "/S") in ACTIONS or _name(value, "/Subtype") in ANNOTATIONS


def _is_file(value: Any) -> bool:  # noqa: ANN401 - as above
    if not isinstance(value, pikepdf.Dictionary):
        return False
    return "/EF" in value or _name(value, "/Type") in {"/Filespec", "/F"}


def _name(value: pikepdf.Dictionary, key: str) -> str:
    found = value.get(key)
    return str(found) if isinstance(found, pikepdf.Name) else ""


def _drop(value: Any, names: tuple[str, ...]) -> int:  # noqa: ANN401 - as above
    if not isinstance(value, pikepdf.Dictionary):
        return 0
    there = [name for name in names if name in value]
    for name in there:
        del value[name]
    return len(there)
