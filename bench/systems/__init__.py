"""One module per system, each run as its own process: see `bench.systems.driver`."""
