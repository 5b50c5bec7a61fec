"""`python -m ostinato`: the command."""

from ostinato.cli.main import main

main()
