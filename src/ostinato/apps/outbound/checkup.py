"""What `ostinato doctor` says about outbound: settings that make a provider half set up."""

from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.observe import Checkup, Trouble

__all__ = ["CHECKUP", "troubles"]

PREFIX = "OSTINATO_OUTBOUND_"


def troubles(settings: OutboundSettings) -> list[Trouble]:
    """What is missing beside what is set."""
    by_mail = settings.smtp_host != "localhost"
    used = bool(settings.whatsapp_token or settings.twilio_auth_token or by_mail)
    sealed = settings.suppression_secret or settings.token_secret
    checks = (
        (
            settings.whatsapp_token and not settings.whatsapp_app_secret,
            "callbacks of WhatsApp are all refused: their secret is not set",
            "WHATSAPP_APP_SECRET",
        ),
        (
            by_mail and not settings.token_secret,
            "mail has no return address of its own, and marketing mail is refused",
            "TOKEN_SECRET",
        ),
        (
            by_mail and not settings.bounce_secret,
            "bounces and complaints are all refused: their secret is not set",
            "BOUNCE_SECRET",
        ),
        (
            used and not sealed,
            "the list of those who opted out is sealed with no secret",
            "SUPPRESSION_SECRET",
        ),
        (
            used and settings.public_url.startswith("http://127.0.0.1"),
            "providers cannot call back: nobody else reaches this address",
            "PUBLIC_URL",
        ),
    )
    return [Trouble(problem, f"Set {PREFIX}{name}.") for wrong, problem, name in checks if wrong]


CHECKUP = Checkup(lambda settings: troubles(settings.section(OutboundSettings)))
