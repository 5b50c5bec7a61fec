"""Permissions as data: a route or a panel names a permission, a permission names its roles."""

from dataclasses import dataclass

from ostinato._core.base.errors import Forbidden


@dataclass(frozen=True, slots=True)
class Permission:
    """Something that the holders of some roles may do."""

    name: str
    """Such as "engine.read"."""
    roles: tuple[str, ...]
    about: str
    """What it allows, in a few words."""

    def allows(self, roles: frozenset[str]) -> bool:
        """Return whether the holder of these roles has it."""
        return not roles.isdisjoint(self.roles)

    def check(self, roles: frozenset[str]) -> None:
        """Refuse a caller who has none of the roles."""
        if not self.allows(roles):
            raise Forbidden(
                f"{self.name} needs one of the roles {', '.join(self.roles)};"
                f" the caller has {', '.join(sorted(roles)) or 'none'}",
                permission=self.name,
                needs=list(self.roles),
                has=sorted(roles),
            )
