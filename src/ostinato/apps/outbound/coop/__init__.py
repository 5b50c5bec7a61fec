"""Notifies the members of Coop Habitat: an application of its own on the surface of outbound.

It imports `outbound.surface`, `APP` and the permissions, and nothing else of outbound. Outbound
knows of it where things are put together only: `jobs` (its guard at each attempt), `http` (its
routes) and the package itself (its jobs).
"""
