-- The newest messages of all tenants, for operators of the installation.
create index message_newest on outbound.message (created_at desc, id desc);
