"""Checks and fills in the parts of a WhatsApp template besides its body: a header, buttons."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ostinato import webhooks
from ostinato.apps.outbound.errors import TemplateRefused
from ostinato.apps.outbound.model import Template
from ostinato.errors import UnsafeAddress

MEDIA = ("IMAGE", "VIDEO", "DOCUMENT")
_LONGEST_NAME = 240
_BUTTONS = {"url": ("text", "text"), "quick_reply": ("payload", "payload"), "copy_code": ("coupon_code", "coupon_code")}


def check(parts: Sequence[Mapping[str, Any]], variables: Sequence[Mapping[str, Any]]) -> None:
    """Refuse parts that no template of WhatsApp can have."""
    kinds = {str(each["name"]): each.get("kind", "text") for each in variables}
    headers = [part for part in parts if part["type"] == "header"]
    places = [part["index"] for part in parts if part["type"] == "button"]
    if len(headers) > 1 or len(set(places)) != len(places):
        raise TemplateRefused("a template has one header at most, and one button at each index")
    shown = {part["variable"] for part in headers if part["format"] in MEDIA}
    media = {name for name, kind in kinds.items() if kind == "media"}
    if media != shown:
        raise TemplateRefused(
            "a media variable is for the header of an image, a video or a document, and no other",
            media=sorted(media ^ shown),
        )
    optional = [each["name"] for each in variables if not each.get("required", True)]
    if media & set(optional):
        raise TemplateRefused("a media variable is always required", media=sorted(media))


def media_fault(value: object) -> str | None:
    """Return what is wrong with the value of a media variable: {"link": "https://…", "filename": "…"}."""
    if not isinstance(value, Mapping) or not {"link"} <= value.keys() <= {"link", "filename"}:
        return "is not a link with a file name"
    link, name = value["link"], value.get("filename", "")
    if not isinstance(link, str) or not link.startswith("https://"):
        return "has no https link"
    if not isinstance(name, str) or len(name) > _LONGEST_NAME or not name.isprintable():
        return "has a file name that cannot be sent"
    try:
        target = webhooks.parse(link)
        if target.address is not None:
            webhooks.check_address(target, target.address)
    except UnsafeAddress as error:
        return f"has a link that nobody else can follow: {error.message}"
    return None


def of(template: Template, values: Iterable[tuple[str, Any]], body: set[str]) -> list[dict[str, Any]]:
    """Return the components of a request: header, body, buttons. `body` are the variables of its text."""
    named = dict(values)
    by_name = template.parameter_format == "NAMED"

    def text(name: str) -> dict[str, Any]:
        label = {"parameter_name": name} if by_name else {}
        return {"type": "text", **label, "text": named[name]}

    made: list[dict[str, Any]] = []
    for part in template.components:
        if part["type"] == "header":
            name, kind = part["variable"], str(part["format"]).lower()
            one = text(name) if kind == "text" else {"type": kind, kind: _media(kind, named[name])}
            made.append({"type": "header", "parameters": [one]})
    inside = [text(name) for name in named if name in body]
    if inside:
        made.append({"type": "body", "parameters": inside})
    buttons = [part for part in template.components if part["type"] == "button"]
    for part in sorted(buttons, key=lambda each: int(each["index"])):
        kind, field = _BUTTONS[part["sub_type"]]
        one = {"type": kind, field: named[part["variable"]]}
        made.append({"type": "button", "sub_type": part["sub_type"], "index": str(part["index"]), "parameters": [one]})
    return made


def _media(kind: str, value: Mapping[str, Any]) -> dict[str, Any]:
    name = {"filename": value["filename"]} if kind == "document" and value.get("filename") else {}
    return {"link": value["link"], **name}
