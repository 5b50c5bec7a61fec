-- Captures, their audit log, and the heads of its chains that were signed.
--
-- Rows belong to a user of a tenant: row-level security shows a user his own, and workers all. Captures change their state by the
-- machine only; both tables of the audit log are append-only for everybody, whoever owns them included.

create table vault_secure.capture_events (
    tenant_id                text not null,
    id                       uuid not null default gen_random_uuid(),
    user_id                  text not null,
    capture_id               text not null check (capture_id ~ '^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$'),
    state                    text not null default 'RECEIVED',
    content_hash             text not null check (content_hash ~ '^[0-9a-f]{64}$'),
    aes_gcm_nonce_b64        varchar(32) not null,
    aes_gcm_tag_b64          varchar(32) not null,
    dek_wrapped_b64          text not null,
    kek_id                   text not null,
    mime_type                text not null,
    size_bytes               bigint not null check (size_bytes between 0 and 9007199254740991),
    upload_object_key        text not null,
    payload_canonical_sha256 text not null check (payload_canonical_sha256 ~ '^[0-9a-f]{64}$'),
    device_id                text,
    timestamp_device         timestamptz not null,
    skew_ms                  bigint not null,
    ocr_text                 text,
    ocr_confidence           double precision check (ocr_confidence between 0 and 1),
    ocr_language             text,
    signature_status         text not null default 'PENDING_SIGNATURE' check (signature_status in ('PENDING_SIGNATURE', 'SIGNED')),
    reason                   text,
    received_at              timestamptz not null default ostinato.now(),
    verified_at              timestamptz,
    sealed_seq               bigint,
    anchored_at              timestamptz,
    reconciliation_attempts  integer not null default 0,
    last_reconciled_at       timestamptz,
    primary key (tenant_id, id),
    -- What makes a second row impossible, whatever a lock missed or a snapshot does not show.
    constraint capture_once unique (tenant_id, user_id, capture_id),
    check ((state = 'ANCHORED') = (signature_status = 'SIGNED'))
);
-- What is not settled yet is looked for now and then; the settled are most of all.
create index capture_unsettled on vault_secure.capture_events (received_at)
    where state in ('RECEIVED', 'UPLOADING', 'UPLOADED', 'VERIFYING');
create index capture_to_anchor on vault_secure.capture_events (tenant_id, user_id, sealed_seq) where state = 'SEALED';

create table vault_secure.capture_audit_log (
    tenant_id     text not null,
    user_id       text not null,
    chain_id      text not null,
    seq           bigint not null check (seq > 0),
    prev_hash     text not null check (prev_hash ~ '^[0-9a-f]{64}$'),
    entry_hash    text not null check (entry_hash ~ '^[0-9a-f]{64}$'),
    occurred_at   timestamptz not null,
    event_type    text not null,
    event_payload jsonb not null,
    canonical     text not null,
    capture_id    text generated always as (event_payload ->> 'capture_id') stored,
    http_status   integer generated always as ((event_payload ->> 'http_status')::integer) stored,
    source_ip     text generated always as (event_payload ->> 'source_ip') stored,
    primary key (tenant_id, chain_id, seq),
    unique (tenant_id, chain_id, prev_hash)
);

create table vault_secure.capture_audit_head (
    tenant_id  text not null,
    user_id    text not null,
    chain_id   text not null,
    seq        bigint not null,
    entry_hash text not null,
    signed_at  timestamptz not null,
    canonical  text not null,
    public_key text not null,
    signature  text not null,
    primary key (tenant_id, chain_id, seq, public_key)
);

-- Refuses what would change the audit log, for everybody.
create function vault_secure.refuse_change() returns trigger language plpgsql
set search_path = vault_secure, pg_catalog, pg_temp as $$
begin
    raise exception using errcode = 'OS409', message = format('%s.%s is append-only: %s is refused', tg_table_schema, tg_table_name, tg_op),
        detail = json_build_object('table', tg_table_name, 'operation', tg_op), hint = 'Append an entry that says what is different now.';
end
$$;
create trigger append_only before update or delete on vault_secure.capture_audit_log
    for each row execute function vault_secure.refuse_change();
create trigger append_only_truncate before truncate on vault_secure.capture_audit_log
    for each statement execute function vault_secure.refuse_change();
create trigger append_only before update or delete on vault_secure.capture_audit_head
    for each row execute function vault_secure.refuse_change();
create trigger append_only_truncate before truncate on vault_secure.capture_audit_head
    for each statement execute function vault_secure.refuse_change();

-- By user and not only by tenant: what one person captured is no business of another of the same house.
do $do$
declare
    v_table text;
    v_whose constant text := 'tenant_id = nullif(current_setting(''app.tenant_id'', true), '''')'
                             ' and user_id = nullif(current_setting(''app.current_user_id'', true), '''')';
begin
    foreach v_table in array array['capture_events', 'capture_audit_log', 'capture_audit_head'] loop
        execute format('alter table vault_secure.%I enable row level security, force row level security', v_table);
        execute format('create policy engine on vault_secure.%I to %I, ostinato_worker using (true) with check (true)', v_table, current_user);
        execute format('create policy person on vault_secure.%I to ostinato_tenant using (%s) with check (%s)', v_table, v_whose, v_whose);
    end loop;
end
$do$;

-- The machine, as machine.py declares it.
select ostinato.install_machine($machine${
    "name": "capture",
    "about": "A capture, from the accepted request to content that was checked and signed for.",
    "states": ["RECEIVED", "UPLOADING", "UPLOADED", "VERIFYING", "SEALED", "ANCHORED", "REJECTED", "FAILED"],
    "initial": "RECEIVED",
    "terminal": ["ANCHORED", "REJECTED", "FAILED"],
    "transitions": [
        {"from": "RECEIVED", "event": "await_upload", "to": "UPLOADING", "guard": "its check has begun"},
        {"from": "UPLOADING", "event": "arrive", "to": "UPLOADED", "guard": "the object is in the store"},
        {"from": "UPLOADED", "event": "examine", "to": "VERIFYING", "guard": ""},
        {"from": "VERIFYING", "event": "seal", "to": "SEALED", "guard": "size, tag and hash are as declared"},
        {"from": "VERIFYING", "event": "reject", "to": "REJECTED", "guard": "key, size, tag or hash is not"},
        {"from": "SEALED", "event": "anchor", "to": "ANCHORED", "guard": "a signed head covers its seal"},
        {"from": "RECEIVED", "event": "fail", "to": "FAILED", "guard": "nothing more is tried"},
        {"from": "UPLOADING", "event": "fail", "to": "FAILED", "guard": "nothing more is tried"},
        {"from": "UPLOADED", "event": "fail", "to": "FAILED", "guard": "nothing more is tried"},
        {"from": "VERIFYING", "event": "fail", "to": "FAILED", "guard": "nothing more is tried"},
        {"from": "SEALED", "event": "fail", "to": "FAILED", "guard": "nothing more is tried"}
    ],
    "invariants": [
        {"states": ["SEALED", "ANCHORED"], "any": false, "why": "the audit log has the entry of the seal", "text": "verified_at is filled and sealed_seq is filled", "checks": [{"column": "verified_at", "is": "filled", "value": null}, {"column": "sealed_seq", "is": "filled", "value": null}]},
        {"states": ["ANCHORED"], "any": false, "why": "", "text": "anchored_at is filled", "checks": [{"column": "anchored_at", "is": "filled", "value": null}]},
        {"states": ["REJECTED", "FAILED"], "any": false, "why": "", "text": "reason is filled", "checks": [{"column": "reason", "is": "filled", "value": null}]}
    ]
}$machine$);
select ostinato.attach_machine('capture', 'vault_secure.capture_events', tenant_column => 'tenant_id');
