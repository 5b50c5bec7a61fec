"""The Django application."""

from django.apps import AppConfig
from django.core import checks
from django.db import connections


class ShopConfig(AppConfig):
    """Takes orders."""

    name = "shop"

    def ready(self) -> None:
        """Let `manage.py check --database default` say when jobs could not be added."""
        checks.register(may_add_jobs, checks.Tags.database)


def may_add_jobs(databases: list[str] | None = None, **_: object) -> list[checks.CheckMessage]:
    """Check that the role of the web application may add jobs."""
    found: list[checks.CheckMessage] = []
    for name in databases or []:
        with connections[name].cursor() as cursor:
            cursor.execute("select current_user, pg_has_role('ostinato_worker', 'usage')")
            user, may = cursor.fetchone()
        if name == "default" and not may:
            found.append(checks.Error(f"{user} may not add jobs", hint=f"ostinato db grant {user}", id="shop.E001"))
    return found
