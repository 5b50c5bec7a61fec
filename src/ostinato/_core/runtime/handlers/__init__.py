"""The handlers' side: applications, kinds, contexts, outcomes, steps, and subscribers of events."""
