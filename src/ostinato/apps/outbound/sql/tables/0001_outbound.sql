-- Outbound: consents with their proofs, messages with their attempts, what providers told, audit and timeline, and the little of
-- Coop Habitat that its notifications need. Seed 002, section 3, and domain.md 7.2.
--
-- Every row belongs to a tenant (the seed's org_id) and row-level security shows a tenant its own. Two tables belong to nobody yet: a
-- callback is stored as its bytes before anyone knows whose it is, and refused ones are only counted. Tenants see neither.
--
-- Lock order: consent, message, attempt, sender, pair, template. The claim of a job is locked last, by the fence.

create table outbound.organisation (
    tenant_id       text primary key,
    zone            text not null default 'Europe/Paris',
    region          text not null default 'FR' check (region ~ '^[A-Z]{2}$'),
    language        text not null default 'fr',
    notice_time     time not null default '10:00',
    holidays        text not null default 'FR',
    stop_covers_all boolean not null default false,
    updated_at      timestamptz not null default ostinato.now()
);

create table outbound.sender (
    tenant_id    text not null,
    id           bigint not null generated always as identity,
    channel      text not null check (channel in ('WHATSAPP', 'SMS', 'EMAIL')),
    provider     text not null check (provider in ('whatsapp', 'twilio', 'smtp')),
    provider_key text not null check (length(provider_key) between 1 and 254),
    display      text not null default '',
    held_until   timestamptz,
    hold_reason  text,
    hold_code    text,
    created_at   timestamptz not null default ostinato.now(),
    primary key (tenant_id, id),
    unique (tenant_id, channel, provider_key)
);
-- The one key over all tenants: a phone_number_id is how a callback finds its tenant, so it can be only one's.
create unique index sender_of_provider on outbound.sender (provider, provider_key);

create table outbound.consent (
    tenant_id   text not null,
    id          uuid not null default gen_random_uuid(),
    subject_id  text not null check (length(subject_id) between 1 and 200),
    channel     text not null check (channel in ('WHATSAPP', 'SMS', 'EMAIL')),
    purpose     text not null check (purpose in ('TRANSACTIONAL', 'MARKETING')),
    address     text not null,
    status      text not null default 'PENDING',
    legal_basis text,
    granted_at  timestamptz,
    expires_at  timestamptz,
    revoked_at  timestamptz,
    version     integer not null default 1,
    created_at  timestamptz not null default ostinato.now(),
    updated_at  timestamptz not null default ostinato.now(),
    primary key (tenant_id, id),
    unique (tenant_id, subject_id, channel, purpose)
);
create index consent_address on outbound.consent (tenant_id, channel, address);
create index consent_id on outbound.consent (id);
create index consent_expiry on outbound.consent (expires_at) where status = 'GRANTED' and expires_at is not null;

create table outbound.consent_event (
    tenant_id   text not null,
    id          bigint not null generated always as identity,
    consent_id  uuid not null,
    event_type  text not null check (event_type in ('REQUESTED', 'GRANTED', 'DENIED', 'REVOKED', 'EXPIRED', 'RENEWED', 'IMPORTED')),
    old_status  text,
    new_status  text not null,
    occurred_at timestamptz not null,
    recorded_at timestamptz not null default ostinato.now(),
    source      text not null,
    actor       text not null,
    proof       jsonb not null default '{}',
    primary key (tenant_id, id),
    foreign key (tenant_id, consent_id) references outbound.consent (tenant_id, id)
);
create index consent_event_of on outbound.consent_event (tenant_id, consent_id, id);

create table outbound.template (
    tenant_id        text not null,
    template_code    text not null check (template_code ~ '^[A-Za-z][A-Za-z0-9_]{0,119}$'),
    language         text not null check (language ~ '^[a-z]{2,3}(_[A-Z]{2})?$'),
    category         text not null check (category in ('MARKETING', 'UTILITY', 'AUTHENTICATION')),
    provider_name    text not null,
    body             text not null check (length(body) between 1 and 100000),
    subject          text,
    variables_schema jsonb not null default '[]',
    is_active        boolean not null default true,
    held_until       timestamptz,
    updated_at       timestamptz not null default ostinato.now(),
    primary key (tenant_id, template_code, language)
);

create table outbound.message (
    tenant_id           text not null,
    id                  uuid not null,
    dossier_id          text,
    subject_id          text not null,
    channel             text not null check (channel in ('WHATSAPP', 'SMS', 'EMAIL')),
    direction           text not null default 'OUTBOUND' check (direction = 'OUTBOUND'),
    purpose             text not null check (purpose in ('TRANSACTIONAL', 'MARKETING')),
    to_address          text not null,
    template_code       text,
    language            text not null,
    subject             text,
    payload             jsonb not null,
    fingerprint         text not null,
    status              text not null default 'QUEUED',
    urgent              boolean not null default false,
    sender_id           bigint not null,
    idempotency_key     text not null check (length(idempotency_key) between 1 and 200),
    entity_type         text,
    entity_id           text,
    logical_event_id    text,
    recipient_ref       text,
    fallback_of         uuid,
    provider_message_id text,
    attempts_used       integer not null default 0,
    code_attempts       jsonb not null default '{}',
    job_id              bigint,
    failed_attempt      integer,
    not_after           timestamptz,
    next_retry_at       timestamptz,
    waits_for           text,
    unknown_until       timestamptz,
    error_code          text,
    error_class         text,
    error_message       text,
    cancel_reason       text,
    dead_reason         text,
    dead_lettered_at    timestamptz,
    sent_at             timestamptz,
    delivered_at        timestamptz,
    read_at             timestamptz,
    failed_at           timestamptz,
    correlation_id      text,
    created_at          timestamptz not null default ostinato.now(),
    updated_at          timestamptz not null default ostinato.now(),
    primary key (tenant_id, id),
    unique (tenant_id, idempotency_key),
    foreign key (tenant_id, sender_id) references outbound.sender (tenant_id, id)
);
create index message_dossier on outbound.message (tenant_id, dossier_id, created_at desc, id desc);
create index message_listed on outbound.message (tenant_id, created_at desc, id desc);
create index message_provider on outbound.message (tenant_id, provider_message_id) where provider_message_id is not null;
create index message_id on outbound.message (id);
create index message_waiting on outbound.message (tenant_id, subject_id, channel) where status in ('QUEUED', 'SENDING');
create index message_entity on outbound.message (tenant_id, entity_type, entity_id) where entity_id is not null;
create index message_sent on outbound.message (sent_at) where sent_at is not null;
create index message_failed on outbound.message (failed_at) where status = 'FAILED';
create index message_dead on outbound.message (dead_lettered_at) where dead_lettered_at is not null;

create table outbound.attempt (
    tenant_id         text not null,
    id                bigint not null generated always as identity,
    message_id        uuid not null,
    attempt_no        integer not null,
    status            text not null default 'TRYING' check (status in ('TRYING', 'FAILED', 'SUCCESS')),
    mode              text not null check (mode in ('template', 'text')),
    counted           boolean not null default true,
    unknown_since     timestamptz,
    error_code        text,
    error_class       text,
    error_message     text,
    provider_response jsonb,
    next_retry_at     timestamptz,
    job_id            bigint,
    created_at        timestamptz not null default ostinato.now(),
    ended_at          timestamptz,
    primary key (tenant_id, id),
    unique (tenant_id, message_id, attempt_no),
    foreign key (tenant_id, message_id) references outbound.message (tenant_id, id)
);
create index attempt_ended on outbound.attempt (ended_at) where ended_at is not null;

-- How fast one recipient may be written to by one sender, and until when not at all.
create table outbound.pair (
    tenant_id    text not null,
    sender_id    bigint not null,
    address      text not null,
    tokens       double precision not null default 45,
    counted_at   timestamptz not null default ostinato.now(),
    paused_until timestamptz,
    primary key (tenant_id, sender_id, address)
);

-- What came in: it opens the window of 24 hours, and may ask to stop.
create table outbound.inbound (
    tenant_id           text not null,
    id                  bigint not null generated always as identity,
    sender_id           bigint not null,
    provider            text not null,
    provider_message_id text not null,
    from_address        text not null,
    kind                text not null,
    body                text,
    asked               text,
    received_at         timestamptz not null,
    recorded_at         timestamptz not null default ostinato.now(),
    primary key (tenant_id, id),
    unique (tenant_id, provider, provider_message_id)
);
create index inbound_window on outbound.inbound (tenant_id, sender_id, from_address, received_at desc);

create table outbound.callback (
    id           bigint primary key generated always as identity,
    provider     text not null,
    url          text not null,
    content_type text,
    body         bytea not null,
    received_at  timestamptz not null default ostinato.now(),
    processed_at timestamptz,
    lines        integer,
    ignored      integer
);
create index callback_open on outbound.callback (received_at) where processed_at is null;
create index callback_done on outbound.callback (processed_at) where processed_at is not null;

-- Each line of a callback once: providers repeat what they are not sure was heard.
create table outbound.callback_line (
    tenant_id           text not null,
    provider            text not null,
    provider_message_id text not null,
    status              text not null,
    at                  timestamptz not null,
    error_code          text not null default '',
    recorded_at         timestamptz not null default ostinato.now(),
    primary key (tenant_id, provider, provider_message_id, status, at, error_code)
);

create table outbound.refused_callback (
    provider text not null,
    reason   text not null,
    minute   timestamptz not null,
    times    bigint not null default 1,
    primary key (provider, reason, minute)
);

create table outbound.audit_event (
    tenant_id      text not null,
    id             bigint not null generated always as identity,
    at             timestamptz not null default ostinato.now(),
    action         text not null,
    actor          text not null,
    message_id     uuid,
    consent_id     uuid,
    dossier_id     text,
    subject_id     text,
    correlation_id text,
    details        jsonb not null default '{}',
    primary key (tenant_id, id)
);
create index audit_message on outbound.audit_event (tenant_id, message_id, id) where message_id is not null;
create index audit_dossier on outbound.audit_event (tenant_id, dossier_id, id) where dossier_id is not null;

create table outbound.activity (
    tenant_id     text not null,
    id            bigint not null generated always as identity,
    dossier_id    text not null,
    at            timestamptz not null default ostinato.now(),
    activity_code text not null default 'MESSAGE_LOG',
    message_id    uuid not null,
    channel       text not null,
    template_code text,
    status        text not null,
    note          text,
    primary key (tenant_id, id)
);
create index activity_dossier on outbound.activity (tenant_id, dossier_id, id);

-- Coop Habitat: what its notifications need to know of members and contributions.
create table outbound.coop_member (
    tenant_id  text not null,
    id         text not null check (length(id) between 1 and 100),
    group_id   text not null,
    subject_id text not null,
    dossier_id text,
    name       text not null default '',
    channel    text not null default 'WHATSAPP' check (channel in ('WHATSAPP', 'SMS', 'EMAIL')),
    address    text not null,
    language   text not null default 'fr',
    status     text not null check (status in ('PENDING_KYC', 'ACTIVE', 'SUSPENDED', 'EXITED', 'EXCLUDED')),
    updated_at timestamptz not null default ostinato.now(),
    primary key (tenant_id, id)
);
create index coop_member_group on outbound.coop_member (tenant_id, group_id, status);

create table outbound.coop_contribution (
    tenant_id    text not null,
    id           text not null check (length(id) between 1 and 100),
    member_id    text not null,
    plan_id      text not null,
    plan_version integer not null check (plan_version > 0),
    due_date     date not null,
    amount_due   numeric(14, 2) not null check (amount_due > 0),
    currency     text not null default 'EUR' check (currency ~ '^[A-Z]{3}$'),
    penalty      numeric(14, 2) not null default 0,
    status       text not null default 'PENDING' check (status in ('PENDING', 'CONFIRMED', 'REJECTED', 'LATE', 'WAIVED')),
    paid_date    date,
    updated_at   timestamptz not null default ostinato.now(),
    primary key (tenant_id, id),
    foreign key (tenant_id, member_id) references outbound.coop_member (tenant_id, id)
);

-- Refuses what would change a proof or the audit, for everybody.
create function outbound.refuse_change() returns trigger language plpgsql
set search_path = outbound, pg_catalog, pg_temp as $$
begin
    raise exception using errcode = 'OS409', message = format('%s.%s is append-only: %s is refused', tg_table_schema, tg_table_name, tg_op),
        detail = json_build_object('table', tg_table_name, 'operation', tg_op), hint = 'Append an entry that says what is different now.';
end
$$;

do $do$
declare
    v_table text;
begin
    foreach v_table in array array['consent_event', 'audit_event', 'activity'] loop
        execute format('create trigger append_only before update or delete on outbound.%I for each row execute function outbound.refuse_change()', v_table);
        execute format('create trigger append_only_truncate before truncate on outbound.%I for each statement execute function outbound.refuse_change()', v_table);
    end loop;
    foreach v_table in array array[
        'organisation', 'sender', 'consent', 'consent_event', 'template', 'message', 'attempt', 'pair', 'inbound', 'callback_line', 'audit_event',
        'activity', 'coop_member', 'coop_contribution'] loop
        perform ostinato.protect_table('outbound.' || v_table);
    end loop;
    -- Nobody's: workers only.
    foreach v_table in array array['callback', 'refused_callback'] loop
        execute format('alter table outbound.%I enable row level security, force row level security', v_table);
        execute format('create policy engine on outbound.%I to %I, ostinato_worker using (true) with check (true)', v_table, current_user);
    end loop;
end
$do$;

-- The machines, as machine.py declares them.
select ostinato.install_machine($machine${
    "name": "outbound_message",
    "about": "A message to one recipient, from the accepted request to what its provider said last.",
    "states": ["QUEUED", "SENDING", "SENT", "DELIVERED", "FAILED", "CANCELLED"],
    "initial": "QUEUED",
    "terminal": ["DELIVERED", "CANCELLED"],
    "transitions": [
        {"from": "QUEUED", "event": "send", "to": "SENDING", "guard": "policy allows it, and the attempt is noted"},
        {"from": "QUEUED", "event": "accept", "to": "SENT", "guard": "the provider has it, by answer or call"},
        {"from": "SENDING", "event": "accept", "to": "SENT", "guard": "the provider has it, by answer or call"},
        {"from": "FAILED", "event": "accept", "to": "SENT", "guard": "its outcome was unknown until now"},
        {"from": "SENDING", "event": "requeue", "to": "QUEUED", "guard": "another attempt is due"},
        {"from": "SENT", "event": "requeue", "to": "QUEUED", "guard": "another attempt is due"},
        {"from": "QUEUED", "event": "deliver", "to": "DELIVERED", "guard": "it arrived"},
        {"from": "SENDING", "event": "deliver", "to": "DELIVERED", "guard": "it arrived"},
        {"from": "SENT", "event": "deliver", "to": "DELIVERED", "guard": "it arrived"},
        {"from": "FAILED", "event": "deliver", "to": "DELIVERED", "guard": "it arrived"},
        {"from": "QUEUED", "event": "fail", "to": "FAILED", "guard": "no attempt is left, or none helps"},
        {"from": "SENDING", "event": "fail", "to": "FAILED", "guard": "no attempt is left, or none helps"},
        {"from": "SENT", "event": "fail", "to": "FAILED", "guard": "no attempt is left, or none helps"},
        {"from": "QUEUED", "event": "cancel", "to": "CANCELLED", "guard": "it may not be sent any more"},
        {"from": "SENDING", "event": "cancel", "to": "CANCELLED", "guard": "it may not be sent any more"},
        {"from": "FAILED", "event": "retry", "to": "QUEUED", "guard": "an operator asks for it"}
    ],
    "invariants": [
        {"states": ["SENT", "DELIVERED"], "any": false, "why": "", "text": "sent_at is filled", "checks": [{"column": "sent_at", "is": "filled", "value": null}]},
        {"states": ["DELIVERED"], "any": false, "why": "", "text": "delivered_at is filled", "checks": [{"column": "delivered_at", "is": "filled", "value": null}]},
        {"states": ["FAILED"], "any": false, "why": "", "text": "failed_at is filled and error_code is filled", "checks": [{"column": "failed_at", "is": "filled", "value": null}, {"column": "error_code", "is": "filled", "value": null}]},
        {"states": ["CANCELLED"], "any": false, "why": "", "text": "cancel_reason is filled", "checks": [{"column": "cancel_reason", "is": "filled", "value": null}]}
    ]
}$machine$);
select ostinato.attach_machine('outbound_message', 'outbound.message', state_column => 'status', tenant_column => 'tenant_id');

select ostinato.install_machine($machine${
    "name": "outbound_consent",
    "about": "What a person allowed for a channel and purpose. Nothing is sent unless it is GRANTED.",
    "states": ["PENDING", "GRANTED", "DENIED", "REVOKED", "EXPIRED"],
    "initial": "PENDING",
    "terminal": [],
    "transitions": [
        {"from": "PENDING", "event": "grant", "to": "GRANTED", "guard": "with a proof"},
        {"from": "DENIED", "event": "grant", "to": "GRANTED", "guard": "with a proof"},
        {"from": "REVOKED", "event": "grant", "to": "GRANTED", "guard": "with a proof"},
        {"from": "EXPIRED", "event": "grant", "to": "GRANTED", "guard": "with a proof"},
        {"from": "PENDING", "event": "deny", "to": "DENIED", "guard": ""},
        {"from": "EXPIRED", "event": "deny", "to": "DENIED", "guard": ""},
        {"from": "PENDING", "event": "revoke", "to": "REVOKED", "guard": ""},
        {"from": "GRANTED", "event": "revoke", "to": "REVOKED", "guard": ""},
        {"from": "EXPIRED", "event": "revoke", "to": "REVOKED", "guard": ""},
        {"from": "GRANTED", "event": "expire", "to": "EXPIRED", "guard": "its time is over"}
    ],
    "invariants": [
        {"states": ["GRANTED"], "any": false, "why": "", "text": "granted_at is filled", "checks": [{"column": "granted_at", "is": "filled", "value": null}]},
        {"states": ["REVOKED"], "any": false, "why": "", "text": "revoked_at is filled", "checks": [{"column": "revoked_at", "is": "filled", "value": null}]}
    ]
}$machine$);
select ostinato.attach_machine('outbound_consent', 'outbound.consent', state_column => 'status', tenant_column => 'tenant_id');

