"""Ostinato and its peers, measured side by side on one machine and one server."""
