"""Declares who may do what with watched folders."""

from ostinato.web import Permission

READ = Permission("watchfolder.read", ("clerk", "ops", "admin"), "see folders, jobs and duplicates")
DECIDE = Permission("watchfolder.decide", ("clerk", "ops", "admin"), "decide about duplicates and failed files")
MANAGE = Permission("watchfolder.manage", ("ops", "admin"), "make, pause, resume and remove folders")
