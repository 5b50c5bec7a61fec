"""PostgreSQL plumbing that knows no job: the embedded server, connections, calls, migrations."""
