"""The whole schema as one script: to review it, or to install it by hand with psql."""

from collections.abc import Sequence

from psycopg import sql as compose

from ostinato._core.db.bundle import Component
from ostinato._core.db.record import CODE, sql_of
from ostinato._core.db.sqlfile import statement

HEAD = """\
-- The schema of Ostinato. Run it with psql as an administrator, in an empty database:
--   psql --set ON_ERROR_STOP=1 --file this.sql
-- It leaves the same record as `ostinato db migrate`, which can take over from here.
"""


def sql(components: Sequence[Component]) -> str:
    """Return the script that installs these components."""
    roles = [statement("ostinato._core.db", "sql/roles.sql", f"create_{what}") for what in _ROLES]
    parts = [HEAD, *roles, sql_of("script_begin"), sql_of("bootstrap"), "commit;"]
    for component in components:
        for name in component.schemas:
            made = compose.SQL(statement("ostinato._core.db", "sql/roles.sql", "create_schema"))
            parts.append(made.format(name=compose.Identifier(name)).as_string(None))
        for step in component.tables:
            end = _end(component, step.version, step.name, step.checksum, compose.Literal([]))
            parts += [_title(component, step.file), sql_of("script_begin"), step.text, end]
        schemas = compose.Literal(list(component.schemas))
        objects = compose.SQL(sql_of("script_objects")).format(schemas=schemas)
        parts += [
            _title(component, "functions and views"),
            sql_of("script_begin"),
            component.functions,
            component.views,
            component.grants,
            _end(component, CODE, "code", component.checksum, objects),
        ]
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


_ROLES = ("roles", "schemas")


def _title(component: Component, what: str) -> str:
    return f"-- {component.name}: {what}"


def _end(component: Component, version: int, name: str, checksum: str, objects: compose.Composable) -> str:
    values = {
        "component": compose.Literal(component.name),
        "version": compose.Literal(version),
        "name": compose.Literal(name),
        "checksum": compose.Literal(checksum),
        "objects": objects,
    }
    return compose.SQL(sql_of("script_end")).format(**values).as_string(None)
