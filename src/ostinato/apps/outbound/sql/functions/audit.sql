-- The two traces of every step: an audit event, and for a message of a dossier a MESSAGE_LOG on its timeline
-- (rule 1.2). An audit event has the real time, also where tests move the engine's clock; the timeline has the
-- engine's.

-- Notes a step of messages: what happened, by whom; with `status`, on the timeline too. `details`, one for each if
-- there are any, hold codes and ids, never an address or a text.
create function outbound.note_messages(
    tenant_id text, ids uuid[], action text, actor text, status text default null, details jsonb[] default null,
    note text default null
) returns void language sql
set search_path = outbound, pg_catalog, pg_temp as $$
    with m as materialized (
        select t.id, t.dossier_id, t.subject_id, t.correlation_id, t.channel, t.template_code, w.n
        from unnest($2) with ordinality w (id, n) join message t on t.tenant_id = $1 and t.id = w.id
    ), audited as (
        insert into audit_event (tenant_id, at, action, actor, message_id, dossier_id, subject_id, correlation_id,
        details)
        select $1, clock_timestamp(), $3, $4, m.id, m.dossier_id, m.subject_id,
        ostinato.correlation(m.correlation_id), coalesce(($6)[m.n], '{}') from m order by m.n
    )
    insert into activity (tenant_id, dossier_id, at, message_id, channel, template_code, status, note)
    select $1, m.dossier_id, ostinato.now(), m.id, m.channel, m.template_code, $5, $7 from m
    where m.dossier_id is not null and $5 is not null order by m.n
$$;

-- Notes a step of one message.
create function outbound.note_message(
    tenant_id text, message_id uuid, action text, actor text, status text default null, details jsonb default '{}',
    note text default null
) returns void language sql
set search_path = outbound, pg_catalog, pg_temp as $$
    select outbound.note_messages($1, array[$2], $3, $4, $5, array[$6], $7)
$$;

-- Notes something that is no step of a stored message: a request that policy refused, a consent that was given or
-- ended; with `status` and a dossier, on its timeline too.
create function outbound.note_audit(
    tenant_id text, action text, actor text, consent_id uuid default null, dossier_id text default null,
    subject_id text default null, details jsonb default '{}', status text default null, channel text default null,
    template_code text default null, note text default null
) returns void language sql
set search_path = outbound, pg_catalog, pg_temp as $$
    with audited as (
        insert into audit_event (tenant_id, at, action, actor, consent_id, dossier_id, subject_id, correlation_id,
        details)
        values ($1, clock_timestamp(), $2, $3, $4, $5, $6, ostinato.correlation(null), coalesce($7, '{}'))
    )
    insert into activity (tenant_id, dossier_id, at, channel, template_code, status, note)
    select $1, $5, ostinato.now(), $9, $10, $8, $11 where $5 is not null and $8 is not null
$$;

-- Notes what became of messages that somebody asked for: those that are new, and those that policy refuses, which are
-- no messages.
create function outbound.note_judged(tenant_id text, actor text, judged outbound.judged[], correlation_id text)
returns void language sql
set search_path = outbound, pg_catalog, pg_temp as $$
    with noted as materialized (
        select j.refusal, case when j.outcome = 'new' then j.id end as message_id, (j.asked).*
        from unnest($3) j where j.outcome in ('new', 'refused')
    ), audited as (
        insert into audit_event (tenant_id, at, action, actor, message_id, dossier_id, subject_id, correlation_id,
            details)
        select $1, clock_timestamp(),
            case when n.message_id is null then 'BLOCKED_BY_POLICY' else 'NOTIFICATION_CREATED' end, $2, n.message_id,
            n.dossier_id, n.subject_id, ostinato.correlation(coalesce(n.correlation_id, $4)),
            case when n.message_id is null then
                jsonb_build_object('reason', n.refusal, 'channel', n.channel, 'purpose', n.purpose, 'template_code',
                n.template_code, 'idempotency_key', n.idempotency_key) else '{}' end
        from noted n order by n.n
    )
    insert into activity (tenant_id, dossier_id, at, message_id, channel, template_code, status, note)
    select $1, n.dossier_id, ostinato.now(), n.message_id, n.channel, n.template_code,
        case when n.message_id is null then 'BLOCKED' else 'QUEUED' end, coalesce(n.refusal, n.template_code)
    from noted n where n.dossier_id is not null order by n.n
$$;
