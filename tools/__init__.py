"""Writes what the repository keeps beside the package: reference pages, deploy/, the site, the bill of materials."""
