"""A shop that takes orders with Django, and confirms them by jobs."""
