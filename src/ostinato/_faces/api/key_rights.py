"""An administrator may make, rotate and revoke certain keys of its tenant.

A caller that rotates a key gets a text with its roles. So a rotation asks for what making such a key would ask for.
Keys of the installation's operators stand in a tenant's list too, but are not its own.
"""

from collections.abc import Collection
from typing import Any

from psycopg import AsyncConnection

from ostinato._core.base.errors import Forbidden
from ostinato._core.engine import keys
from ostinato._faces.api.permissions import INSTALLATION, READERS

_HINT = "An operator of the installation does it: ostinato keys"


def beyond_giving(roles: Collection[str], has: Collection[str]) -> list[str]:
    """Return the roles that a caller may not give: neither its own nor the engine's, or of the installation."""
    return sorted(set(roles) - {*READERS, *has} | set(INSTALLATION.roles) & set(roles))


async def check_rotation(conn: AsyncConnection[Any], key_id: int, tenant_id: str, has: Collection[str]) -> None:
    """Refuse to rotate a key of the tenant with roles that the caller may not give."""
    if beyond := beyond_giving(await _roles(conn, key_id, tenant_id), has):
        raise Forbidden(f"the key ost_{key_id} has roles that are not yours to give: {', '.join(beyond)}", hint=_HINT)


async def check_revocation(conn: AsyncConnection[Any], key_id: int, tenant_id: str) -> None:
    """Refuse to revoke a key of the installation's operators."""
    if not set(INSTALLATION.roles).isdisjoint(await _roles(conn, key_id, tenant_id)):
        raise Forbidden(f"the key ost_{key_id} is one of the installation's operators", hint=_HINT)


async def _roles(conn: AsyncConnection[Any], key_id: int, tenant_id: str) -> list[str]:
    """Return the roles of a key of the tenant; none of one that it has not, which the verb itself refuses."""
    found = await keys.find(conn, key_id)
    return found.roles if found is not None and found.tenant_id == tenant_id else []
