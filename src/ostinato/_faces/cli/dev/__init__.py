"""Generates the reference pages and the files in deploy/."""
