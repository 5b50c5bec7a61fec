"""Tries the product: stand-ins for the outside world, demos, torture. Needs `ostinato[lab]`."""
