"""Generators of the reference pages and of the files in deploy/."""
