"""Serves outbound over HTTP: routes with the bodies that they take and give."""
