"""Carries messages: one file for each provider."""
