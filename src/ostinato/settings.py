"""Settings: those of Ostinato, and those of an application, declared once and read in one order.

    @section("billing")
    class Billing(Section):
        bank_url: str = setting("https://bank.example", "Where payments are fetched.")

    app = App("billing", settings="acme.billing.settings:Billing")

A flag of a command wins over the environment (`OSTINATO_BILLING_BANK_URL`), that over the file
`ostinato.toml` (`[billing]`), that over the default.
"""

from ostinato._core.base.sections import Section, section, setting
from ostinato._core.base.settings import Settings, load

__all__ = ["Section", "Settings", "load", "section", "setting"]
