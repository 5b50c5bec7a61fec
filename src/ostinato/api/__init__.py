"""The HTTP face: one FastAPI application from the catalog, for the engine and every application."""
