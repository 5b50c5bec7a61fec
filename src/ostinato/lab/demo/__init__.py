"""Runs `ostinato demo`: shows the promises end to end on a running system."""
