"""Copies of a whole server with PostgreSQL's own programs: base backups, the log that follows them, restores."""
