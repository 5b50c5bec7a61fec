"""`python -m ostinato`: the command."""

from ostinato._faces.cli.main import main

main()
