"""The bodies of what sets an organisation up: its choices, senders, templates."""

from datetime import datetime, time
from typing import Annotated, Literal

from pydantic import Discriminator, Field, StringConstraints

from ostinato.apps.outbound.http.views import Language, Name, Short, Text, View
from ostinato.apps.outbound.model import Category, Channel

__all__ = [
    "OrganisationView",
    "SenderView",
    "StoredSender",
    "StoredTemplate",
    "TemplateView",
]

Reply = Annotated[str, StringConstraints(min_length=1, max_length=1024, pattern=r"^[^\x00]+$")]


class VariableView(View):
    """One variable of a template."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,62}$")
    kind: Literal["text", "media"] = Field(
        default="text", description='Media is {"link": "https://…", "filename": "…"}.'
    )
    required: bool = True
    max_length: int = Field(default=1024, ge=1, le=1024)


Variable = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,62}$")]


class HeaderView(View):
    """The header of a WhatsApp template, if it has a variable."""

    type: Literal["header"]
    format: Literal["TEXT", "IMAGE", "VIDEO", "DOCUMENT"]
    variable: Variable


class ButtonView(View):
    """A button of a WhatsApp template, if it has a variable."""

    type: Literal["button"]
    sub_type: Literal["url", "quick_reply", "copy_code"]
    index: int = Field(ge=0, le=9)
    variable: Variable


class TemplateView(View):
    """A template: the same text on every channel; WhatsApp knows it by its provider name."""

    category: Category
    provider_name: Name
    body: Text = Field(min_length=1, examples=["Bonjour {{name}}"])
    subject: Short | None = None
    variables: list[VariableView] = Field(default=[], max_length=50)
    components: list[Annotated[HeaderView | ButtonView, Discriminator("type")]] = Field(
        default=[],
        max_length=11,
        description="On WhatsApp: a header and buttons that have a variable.",
    )
    parameter_format: Literal["NAMED", "POSITIONAL"] = Field(
        default="NAMED", description="How the template was made at WhatsApp: {{name}} or {{1}}."
    )
    is_active: bool = True


class StoredTemplate(TemplateView):
    """A template with its code and language."""

    template_code: str
    language: str
    held_until: datetime | None
    provider_status: str | None = Field(
        default=None, description="WhatsApp's last word: APPROVED, REJECTED, DISABLED …"
    )


class SenderView(View):
    """A number or an address to send from."""

    channel: Channel
    provider_key: Short = Field(
        min_length=1,
        examples=["100200300"],
        description="The phone_number_id of WhatsApp; for SMS a number, a short number, a name or"
        " a Messaging Service; or the mail address.",
    )
    display: Annotated[str, StringConstraints(max_length=100, pattern=r"^[^\x00\r\n]*$")] = ""
    account_key: Short | None = Field(
        default=None, description="The WhatsApp account; without one, callbacks tell it."
    )


class StoredSender(SenderView):
    """A sender with its id, and until when it is held."""

    id: int
    provider: str
    held_until: datetime | None
    hold_reason: str | None


class OrganisationView(View):
    """What an organisation has chosen."""

    zone: Annotated[str, StringConstraints(max_length=60)] = "Europe/Paris"
    region: Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}$")] = "FR"
    language: Language = "fr"
    notice_time: time = time(10, 0)
    holidays: Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}(-[A-Z0-9]{1,6})?$")] = "FR"
    stop_covers_all: bool = False
    stop_reply: Reply | None = Field(default=None, description="Confirms a STOP; null: nothing.")
    help_reply: Reply | None = Field(default=None, description="Answers HELP; null: nothing.")
    start_reply: Reply | None = Field(default=None, description="Confirms a START; null: nothing.")
