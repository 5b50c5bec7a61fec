"""The applications on the engine. They never import each other; `pyproject.toml` lists them."""
