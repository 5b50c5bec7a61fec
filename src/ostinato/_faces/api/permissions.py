"""The permissions of the engine's routes, with the roles that have them."""

from ostinato._core.web.permissions import Permission

__all__ = ["ENGINE_READ", "ENGINE_WRITE"]

OPERATORS = ("ops", "admin")

ENGINE_READ = Permission(
    "engine.read", OPERATORS, "see the tenant's jobs, events, schedules and dead letters"
)
ENGINE_WRITE = Permission(
    "engine.write", OPERATORS, "enqueue, retry, cancel and redrive the tenant's jobs"
)
