"""`ostinato demo`: what is promised, shown end to end on a running system."""
