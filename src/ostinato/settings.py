"""Settings, of Ostinato and of an application, are declared once and read in one order.

    from ostinato.settings import Section, section, setting

    @section("billing")
    class Billing(Section):
        bank_url: str = setting("https://bank.example", "Where payments are fetched.")
        most: int = setting(100, "Payments in one request.", low=1, high=1000)

    ctx.settings(Billing).bank_url                      # in a handler

A flag of a command wins over the environment (`OSTINATO_BILLING_BANK_URL`), that over the file
`ostinato.toml` (`[billing]`), that over the default. Handlers ask `ctx.settings`, routes
`caller.settings`, commands `cli.settings.section`: nothing is read from a global. The `App` names
the class: `settings="acme.billing.settings:Billing"`.
"""

from ostinato._core.base.sections import Section, section, setting
from ostinato._core.base.settings import Settings, load

__all__ = ["Section", "Settings", "load", "section", "setting"]
