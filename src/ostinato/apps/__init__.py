"""The applications on the engine. They never import each other; `ostinato.catalog` lists them."""
