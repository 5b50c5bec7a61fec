"""Declares who may do what with captures."""

from ostinato.web import Permission

TAKE = Permission("capture.take", ("capture", "admin"), "send captures")
READ = Permission("capture.read", ("capture", "admin"), "see one's own captures")
NOTIFY = Permission("capture.notify", ("capture_store", "admin"), "say what was uploaded to the store")
