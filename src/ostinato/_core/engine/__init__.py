"""The engine's promises, one concept per module; each verb is the SQL function of the same name."""
