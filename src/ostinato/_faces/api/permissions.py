"""Declares the permissions of the engine's routes, and the roles that have them."""

from ostinato._core.web.permissions import Permission

OPERATORS = ("ops", "admin")

ENGINE_READ = Permission("engine.read", OPERATORS, "see the tenant's jobs, events, schedules and dead letters")
ENGINE_ERASE = Permission("engine.erase", ("admin",), "erase what the engine keeps about a person of the tenant")
ENGINE_WRITE = Permission("engine.write", OPERATORS, "enqueue, retry, cancel and redrive the tenant's jobs")
