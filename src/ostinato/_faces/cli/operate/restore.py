"""`ostinato restore` stands alone: a person who needs it looks for it by its name, not below `backup`."""

from ostinato._faces.cli.frame.verbs import commands
from ostinato._faces.cli.operate.backup import restore

register = commands(restore)
