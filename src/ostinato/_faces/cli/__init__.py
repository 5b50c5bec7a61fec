"""The command line: Typer and Rich over the verbs of the engine. Nothing below imports it."""
