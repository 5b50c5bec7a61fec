"""Declares who may do what with outbound messages."""

from ostinato.web import Permission

SEND = Permission("outbound.send", ("agent", "ops", "admin"), "ask for messages to be sent")
READ = Permission("outbound.read", ("agent", "auditor", "ops", "admin"), "read messages and audit")
CONSENT = Permission("outbound.consent", ("agent", "ops", "admin"), "record and revoke consent")
ERASE = Permission("outbound.erase", ("admin",), "forget a person, but not the refusals")
OPERATE = Permission("outbound.operate", ("ops", "admin"), "retry messages, release senders")
GRANT = Permission("outbound.grant", ("installation",), "say whose numbers, sender names and mail domains are")
SET_UP = Permission("outbound.set_up", ("admin",), "set up senders, templates and the organisation")
