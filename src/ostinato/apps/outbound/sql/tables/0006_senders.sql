-- Whose a number, a name or a mail domain is, and what opens the account that it is sent with.

-- One row for each that is proven. The key is over all tenants on purpose, and the only one that is: a number belongs to one organisation,
-- and a callback finds its tenant by it. Anybody may set up a sender; without a row here nothing goes out by it and no callback is its own.
create table outbound.ownership (
    provider  text not null check (provider in ('whatsapp', 'twilio', 'smtp')),
    -- The phone_number_id; the number, the short number, the service or the name in lower case; the mail address or its domain.
    key       text not null check (length(key) between 1 and 254),
    tenant_id text not null,
    proof     text not null check (proof in ('GRANT', 'META', 'DNS', 'TRUST', 'BEFORE')),
    -- Whether the account of the installation may be used: only an administrator says so.
    account   boolean not null default false,
    proven_at timestamptz not null default ostinato.now(),
    proven_by text not null,
    primary key (provider, key)
);
create index ownership_tenant on outbound.ownership (tenant_id);
select ostinato.protect_table('outbound.ownership');

-- What is there was set up when first come was first served: it stays so, to be looked through by `ostinato outbound owners`. What is no
-- phone_number_id was never one.
insert into outbound.ownership (provider, key, tenant_id, proof, account, proven_by)
select s.provider, lower(s.provider_key collate "C"), s.tenant_id, 'BEFORE', true, 'migration' from outbound.sender s
where s.provider <> 'whatsapp' or s.provider_key ~ '^[0-9]{5,20}$' order by s.created_at on conflict do nothing;

-- Several organisations may set up the same: the answer to who comes second tells nothing of who was first.
drop index outbound.sender_of_provider;
create index sender_of_provider on outbound.sender (provider, provider_key);

-- The account of a sender, sealed by the vault; and the name under which its provider calls back, which tells nobody whose it is.
alter table outbound.sender add column credentials text, add column hook uuid not null default gen_random_uuid();
create unique index sender_hook on outbound.sender (hook);

-- Who signed it, if it was not the account of the installation: such a callback speaks of that organisation only.
alter table outbound.callback add column tenant_id text;
