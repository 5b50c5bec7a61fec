"""How it is tried: stand-ins for the outside world, demos, torture. Needs `ostinato[lab]`."""
