"""Plays the outside world for demo and tests, over real HTTP and with scripted faults."""
