"""Declares the permissions of the engine's routes, and the roles that have them."""

from ostinato._core.web.permissions import Permission

READERS = ("reader", "ops", "admin")
OPERATORS = ("ops", "admin")
ADMINISTRATORS = ("admin",)

ENGINE_READ = Permission("engine.read", READERS, "see the tenant's jobs, events, schedules and dead letters")
ENGINE_LOOK = Permission("engine.look", OPERATORS, "see arguments, results and payloads, who did what, and why")
ENGINE_ERASE = Permission("engine.erase", ("admin",), "erase what the engine keeps about a person of the tenant")
ENGINE_WRITE = Permission("engine.write", OPERATORS, "enqueue, retry, cancel and redrive the tenant's jobs")
ENGINE_ADMIN = Permission("engine.admin", ADMINISTRATORS, "see and revoke the tenant's keys and sessions")
INSTALLATION = Permission("engine.installation", ("installation",), "operate what all tenants share, with a key")
WEBHOOKS_PORTAL = Permission("webhooks.portal", ("portal",), "look after the tenant's own endpoints of webhooks")
CONSOLE_READ = Permission("console.read", READERS, "look at the pages of the console, without arguments and payloads")
