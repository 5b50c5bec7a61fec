"""One tick of the orchestrator, step by step: arrivals, stages, decisions, finishing, recovery."""
