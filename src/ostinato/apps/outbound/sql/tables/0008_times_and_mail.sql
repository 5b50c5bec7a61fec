-- When a message is to go, what a mail looks like, and where answers to it go.

-- A time that the caller has asked for; null: as soon as it may.
alter table outbound.message add column send_at timestamptz;
create index message_ended on outbound.message (updated_at) where status not in ('QUEUED', 'SENDING');
create index inbound_listed on outbound.inbound (tenant_id, id desc);

-- The same text for readers that show HTML; the body is its twin.
alter table outbound.template add column html text check (length(html) between 1 and 500000);

alter table outbound.sender add column reply_to text check (length(reply_to) between 3 and 254);
