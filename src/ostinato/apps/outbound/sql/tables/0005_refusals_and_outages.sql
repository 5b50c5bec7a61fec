-- Addresses are compared without their case, fingerprints are sealed, and a sender remembers that its provider is away.

-- Ana@ and ana@ are one mailbox: what one refused, the other did. "C" folds ASCII, which is all that addresses here are made of, in the
-- same way whatever the locale of the database.
drop index outbound.consent_address;
create index consent_folded on outbound.consent (tenant_id, channel, lower(address collate "C"));

-- The secret of this installation under which requests are fingerprinted: only outbound.sealed() reads it. Two halves, as an HMAC has an
-- inner and an outer key.
create table outbound.secret (
    name  text primary key,
    inner_key bytea not null check (length(inner_key) = 64),
    outer_key bytea not null check (length(outer_key) = 64)
);
alter table outbound.secret enable row level security, force row level security;
do $do$
begin
    execute format('create policy owner on outbound.secret to %I using (true) with check (true)', current_user);
end
$do$;
insert into outbound.secret (name, inner_key, outer_key)
select 'fingerprint', k.one || k.two, k.three || k.four from (
    select sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())) as one,
        sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())) as two,
        sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())) as three,
        sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())) as four
) k;

-- What is there is sealed as outbound.sealed() does it, so that a key that is used again is still compared; of who was erased it goes.
update outbound.message m set fingerprint = case when m.to_address = '' then '{}' else (
    select coalesce(json_object_agg(f.key,
        left(encode(sha256(s.outer_key || sha256(s.inner_key || convert_to(f.key || chr(31) || f.value, 'UTF8'))), 'hex'), 32)), '{}')::text
    from json_each_text(m.fingerprint::json) f) end
from outbound.secret s where s.name = 'fingerprint' and m.fingerprint not in ('', '{}');

-- WhatsApp writes the number of a person into its ids of messages: the audit, which nobody can change later, goes without them.
alter table outbound.audit_event disable trigger append_only;
update outbound.audit_event set details = details - 'provider_message_id' where details ? 'provider_message_id';
alter table outbound.audit_event enable trigger append_only;
update outbound.message set provider_message_id = null where to_address = '' and provider_message_id is not null;

-- The bytes of a callback name people: once it is applied, nobody needs them.
update outbound.callback set body = '' where processed_at is not null;

-- A provider that does not answer: since when, how often in a row, how often it was tried since, and by which message.
alter table outbound.sender
    add column troubles integer not null default 0,
    add column outage_since timestamptz,
    add column probes integer not null default 0,
    add column probed_by uuid;
