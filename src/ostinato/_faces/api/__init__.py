"""The HTTP face: one FastAPI application for the engine and every application."""
