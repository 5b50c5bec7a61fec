-- What people ask for by one word may be answered, what they refuse is remembered beyond their data, and templates have more than a body.

-- Texts that answer STOP, HELP and START; without one nothing is answered.
alter table outbound.organisation
    add column stop_reply text check (length(stop_reply) between 1 and 1024),
    add column help_reply text check (length(help_reply) between 1 and 1024),
    add column start_reply text check (length(start_reply) between 1 and 1024);

-- The account that a number belongs to at its provider: a callback about a template names nothing else.
alter table outbound.sender add column account_key text;
create index sender_account on outbound.sender (provider, account_key) where account_key is not null;

-- In some countries WhatsApp knows a person by another number than the one that is dialled; what comes in names that one.
alter table outbound.pair add column wa_id text;
create index pair_wa_id on outbound.pair (tenant_id, sender_id, wa_id) where wa_id is not null;

-- The provider's word about a template is not the organisation's: one that it approves again stays out of use if an admin took it out.
alter table outbound.template
    add column components jsonb not null default '[]',
    add column parameter_format text not null default 'NAMED' check (parameter_format in ('NAMED', 'POSITIONAL')),
    add column provider_status text,
    add column provider_status_at timestamptz;
create index template_provider_name on outbound.template (tenant_id, provider_name);

-- The inbound message that a message answers by itself. No foreign key: what people wrote is forgotten before what we sent.
alter table outbound.message add column inbound_id bigint;
create index message_held on outbound.message (tenant_id, sender_id) where status = 'QUEUED' and waits_for is not null;

-- A request that policy refused is on the timeline too, and is no message.
alter table outbound.activity alter column message_id drop not null;

alter table outbound.consent_event drop constraint consent_event_event_type_check;
alter table outbound.consent_event add constraint consent_event_event_type_check
    check (event_type in ('REQUESTED', 'GRANTED', 'DENIED', 'REVOKED', 'EXPIRED', 'RENEWED', 'IMPORTED', 'ERASED'));

-- Who wants nothing more, kept when all else about a person is erased: no address, but what only the same address makes again.
create table outbound.suppression (
    tenant_id   text not null,
    channel     text not null check (channel in ('WHATSAPP', 'SMS', 'EMAIL')),
    purpose     text not null check (purpose in ('TRANSACTIONAL', 'MARKETING')),
    address_mac bytea not null check (length(address_mac) = 32),
    source      text not null,
    since       timestamptz not null,
    recorded_at timestamptz not null default ostinato.now(),
    primary key (tenant_id, channel, purpose, address_mac)
);
create index suppression_since on outbound.suppression (since);
select ostinato.protect_table('outbound.suppression');
