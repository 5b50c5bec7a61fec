-- Erasing a person, and forgetting what people wrote, find their rows without looking at all others.

create index message_of_subject on outbound.message (tenant_id, subject_id) where status not in ('QUEUED', 'SENDING') and to_address <> '';
create index inbound_from on outbound.inbound (tenant_id, from_address);
create index inbound_recorded on outbound.inbound (recorded_at);
