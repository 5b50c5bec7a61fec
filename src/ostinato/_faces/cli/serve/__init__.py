"""Commands that run until they are stopped: `up`, `worker`, `api`, and their supervisor."""
