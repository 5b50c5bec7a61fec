"""Pure building blocks: no PostgreSQL, no HTTP, nothing that waits.

Every other layer may import from here; nothing here imports another layer.
"""
