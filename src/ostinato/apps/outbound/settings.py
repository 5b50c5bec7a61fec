"""Declares the settings of outbound: OSTINATO_OUTBOUND_… or the table [outbound]."""

import ssl
from urllib.parse import urlsplit

from ostinato.apps.outbound.model import Validation
from ostinato.errors import SettingsError
from ostinato.settings import Section, section, setting


@section("outbound")
class OutboundSettings(Section):
    """The settings of outbound: addresses and credentials of providers, times and limits."""

    public_url: str = setting(
        "http://127.0.0.1:8080", "The address of this API as providers and readers of mail reach it, without a slash."
    )
    whatsapp_url: str = setting("https://graph.facebook.com/v23.0", "The WhatsApp Cloud API, with its version.")
    whatsapp_token: str = setting("", "The token of the system user (a secret).")
    whatsapp_app_secret: str = setting("", "Signs callbacks of WhatsApp (a secret). Empty: all of them are refused.")
    whatsapp_verify_token: str = setting("", "What Meta says when it verifies the callback.")
    twilio_url: str = setting("https://api.twilio.com", "Twilio.")
    twilio_account_sid: str = setting("", "The account at Twilio.")
    twilio_auth_token: str = setting(
        "", "Opens the account and signs its callbacks (a secret). Empty: all are refused."
    )
    smtp_host: str = setting("localhost", "The mail server.")
    smtp_port: int = setting(587, "Its port.", low=1, high=65_535)
    smtp_tls: str = setting("starttls", "How the connection is secured.", choices=("none", "starttls", "tls"))
    smtp_username: str = setting("", "Who logs in; empty: nobody.")
    smtp_password: str = setting("", "With which password (a secret).")
    mail_domain: str = setting("localhost", "The domain of Message-IDs and return addresses.")
    bounce_secret: str = setting("", "What the mail server sends as X-Bounce-Secret with bounces (a secret).")
    mailgun_signing_key: str = setting("", "What Mailgun signs its webhooks with (a secret), if it sends the mail.")
    proxy_url: str = setting("", "An HTTP proxy through which providers are reached, such as http://proxy:3128.")
    ca_file: str = setting("", "A file of certificates (PEM) that are trusted beside the usual ones.")
    token_secret: str = setting("", "Seals unsubscribe links and return addresses (a secret); needed for mail.")
    suppression_secret: str = setting(
        "",
        "Seals the list of those who opted out, with the secret in the database (a secret, for years); empty:"
        " token_secret does, or that in the database alone.",
    )
    trusted_tenants: str = setting(
        "",
        "Tenants that may set up senders without a proof and use the accounts above, with commas between; * is all,"
        " for an installation of one organisation.",
    )
    smtp_hosts: str = setting(
        "", "Mail servers that senders with an account of their own may name beside smtp_host, with commas between."
    )
    dns_url: str = setting(
        "https://dns.google/resolve",
        "A resolver (DNS over HTTPS, JSON) that is asked for the record of a mail domain. Empty: nobody is asked.",
    )
    twilio_confirms: bool = setting(
        default=True, description="Whether Twilio answers STOP, HELP and START itself, as it does by default."
    )
    timeout_seconds: float = setting(10.0, "How long a provider has for its answer.", low=0.05, high=120)
    max_attempts: int = setting(5, "Attempts of a message in all.", low=1, high=6)
    unknown_hold_seconds: float = setting(
        300.0, "How long a callback is waited for when an answer was lost, before it is sent again.", low=0, high=86_400
    )
    keep_days: int = setting(
        30, "Days for which callbacks and what people wrote are kept; providers repeat for a week.", low=8, high=3650
    )
    keep_message_days: int = setting(
        0, "Days for which messages that ended are kept, and their keys known; 0: for good.", low=0, high=36_500
    )
    phone_validation: str = setting(
        "valid",
        "Which numbers are taken: those that are assigned, or all of a possible length.",
        choices=("valid", "possible"),
    )
    quiet_hours: bool = setting(default=True, description="Whether messages wait for hours at which people are awake.")

    def __post_init__(self) -> None:
        """Check, and take a slash at the end of an address for none."""
        super().__post_init__()
        _check_certificates(self.ca_file)
        _check_proxy(self.proxy_url)
        object.__setattr__(self, "public_url", self.public_url.rstrip("/"))

    def trusts(self, tenant_id: str) -> bool:
        """Return whether a tenant may name its senders without a proof."""
        named = {each.strip() for each in self.trusted_tenants.split(",")}
        return "*" in named or tenant_id in named

    @property
    def mail_servers(self) -> frozenset[str]:
        """The mail servers that a sender's own account may name."""
        return frozenset(each.strip().lower() for each in (self.smtp_host, *self.smtp_hosts.split(",")) if each.strip())

    @property
    def validation(self) -> Validation:
        """Which numbers are taken."""
        return "possible" if self.phone_validation == "possible" else "valid"


def _check_certificates(path: str) -> None:
    """Refuse a file of which nothing can be trusted, before the first message meets it."""
    if not path:
        return
    try:
        ssl.create_default_context(cafile=path)
    except (OSError, ssl.SSLError) as error:
        why = error.strerror or "it has no certificate"
        raise SettingsError(
            f"outbound.ca_file: {path} cannot be read ({why})", hint="Name a file of certificates in PEM."
        ) from error


def _check_proxy(url: str) -> None:
    """Refuse an address by which no proxy is reached; it may hold a password, and is not shown."""
    try:
        parts = urlsplit(url)
        good = not url or (parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0)
    except ValueError:
        good = False
    if not good or any(sign.isspace() for sign in url):
        raise SettingsError("outbound.proxy_url is no address of a proxy", hint="Write it as http://proxy:3128.")
