"""This package holds how it works: values, PostgreSQL, the engine in SQL, the processes, and what routers use."""
