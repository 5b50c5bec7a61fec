"""This package holds what handlers use: applications, kinds, contexts, outcomes, steps, subscribers of events."""
