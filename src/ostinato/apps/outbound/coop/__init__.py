"""Notifies the members of Coop Habitat: an application of its own on the surface of outbound."""
