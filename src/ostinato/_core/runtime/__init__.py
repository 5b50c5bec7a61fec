"""Processes that run jobs, on asyncio. No SQL text here: the engine's verbs do the work."""
