"""A shop that takes orders with FastAPI and SQLAlchemy, and confirms them by jobs."""
