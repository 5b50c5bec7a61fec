"""Permissions as data: a route names a permission, a permission names its roles."""

from ostinato._core.base.permissions import Permission

__all__ = ["Permission"]
