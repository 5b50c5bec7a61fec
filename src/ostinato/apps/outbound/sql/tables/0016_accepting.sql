-- A message as somebody asks for it, planned by who read its recipient and its template; and what is to become of it.
create type outbound.asked as (
    n                integer,
    idempotency_key  text,
    fields           jsonb,
    planned          boolean,
    dossier_id       text,
    subject_id       text,
    channel          text,
    purpose          text,
    to_address       text,
    template_code    text,
    language         text,
    subject          text,
    payload          jsonb,
    urgent           boolean,
    sender_id        bigint,
    entity_type      text,
    entity_id        text,
    logical_event_id text,
    recipient_ref    text,
    fallback_of      uuid,
    inbound_id       bigint,
    not_after        timestamptz,
    send_at          timestamptz,
    address_macs     text[],
    needs_window     boolean
);
create type outbound.judged as (
    id        uuid,
    asked     outbound.asked,
    sealed    jsonb,
    outcome   text,
    refusal   text,
    sender_id bigint,
    lanes     integer
);
