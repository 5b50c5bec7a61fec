"""Stand-ins for the outside world, over real HTTP and with scripted faults: for demo and tests."""
