-- Accepting messages: what decides about some of them, and all that is written of them, in one call.
--
-- The API reads recipients and fills in templates; for that it remembers what an organisation has chosen, and its
-- templates. It says by their versions what it has `seen`: if something else is there by now, nothing is written, and
-- `facts` says what is. With `seen` null it has asked just now. A message is one of these:
--
--   known     its key was used before: the row says by what; the caller compares the fingerprints
--   unread    not accepted, whatever else: its recipient or its template was refused by the API (`planned` is false)
--   refused   policy refuses it; the audit says so
--   late, no_sender, unproven, closed   it cannot be sent so: nothing is written of it
--   new       written, with its job, its traces and its event
--
-- Keys are locked in their order, so that two batches with the same keys wait for each other and for nothing else.

-- Returns why a message to an address may not go, in one word; null: it may. Deny by default (rule 1.1). `suppressed`
-- says that somebody refused everything at this address, and nobody lifted it since. A consent was given for an
-- address, which may belong to somebody else by now; a mailbox is the same however it is spelt.
create function outbound.consent_refusal(c outbound.consent, to_address text, suppressed boolean) returns text
language sql stable set search_path = outbound, pg_catalog, pg_temp as $$
    select case
        when (c).status is null or (c).status = 'PENDING' then 'CONSENT_MISSING'
        when (c).status <> 'GRANTED' then 'CONSENT_' || (c).status
        when (c).expires_at <= ostinato.now() then 'CONSENT_EXPIRED'
        when (c).address <> $2
            and ((c).channel <> 'EMAIL' or lower((c).address collate "C") <> lower($2 collate "C"))
            then 'CONSENT_OTHER_ADDRESS'
        when $3 then 'CONSENT_SUPPRESSED' end
$$;

-- Returns over how many limits of its channel a sender that is faster is spread; the last part of its rate is left.
create function outbound.lanes(rate double precision, channel_rate double precision) returns integer
language sql immutable as $$
    select coalesce(greatest(1, floor($1 / $2))::integer, 1)
$$;

-- Returns what an organisation has chosen and some of its templates, each with its version: '' is the version of what
-- is not there. A template that was `asked` for in no language is meant in the organisation's, else in
-- `language`.
create function outbound.facts(tenant_id text, wanted jsonb, language text) returns jsonb
language sql stable set search_path = outbound, pg_catalog, pg_temp as $$
    select jsonb_build_object('organisation', to_jsonb(o), 'version', coalesce(md5(o::text), ''), 'templates',
        coalesce((select jsonb_agg(jsonb_build_object('code', w.code, 'language', l.language, 'version',
            coalesce(md5(t::text), ''), 'template', to_jsonb(t)))
        from jsonb_to_recordset($2) as w (code text, asked text)
        cross join lateral (select coalesce(w.asked, o.language, $3) as language) l
        left join template t on t.tenant_id = $1 and t.template_code = w.code and t.language = l.language), '[]'))
    from (values (1)) one (n) left join organisation o on o.tenant_id = $1
$$;

-- Returns whether something else is there than was seen: `organisation` is a version, and so has each of `templates`.
create function outbound.is_outdated(tenant_id text, seen jsonb) returns boolean
language sql stable set search_path = outbound, pg_catalog, pg_temp as $$
    select ($2 ->> 'organisation') is distinct from
            coalesce((select md5(o::text) from organisation o where o.tenant_id = $1), '')
        or exists (
            select from jsonb_to_recordset($2 -> 'templates') as s (code text, language text, version text)
            left join template t on t.tenant_id = $1 and t.template_code = s.code and t.language = s.language
            where s.version is distinct from coalesce(md5(t::text), ''))
$$;

-- Says what is to become of messages. A sender is the one named, else the usual one, else the first by which something
-- may be sent. What answers a word that somebody wrote needs no consent.
create function outbound.judge_messages(tenant_id text, asked jsonb, limits jsonb) returns setof outbound.judged
language sql volatile set search_path = outbound, pg_catalog, pg_temp as $$
    with given as materialized (
        select g as asked, g.*, row_number() over (partition by g.idempotency_key order by g.n) as turn
        from jsonb_populate_recordset(null::asked, $2) g
    ), chosen as materialized (
        select w.channel, w.named, s.id, s.rate, s.usable
        from (select distinct g.channel, g.sender_id as named from given g) w
        cross join lateral (
            select s.id, s.rate, outbound.usable(s) as usable from sender s
            where s.tenant_id = $1 and s.channel = w.channel and (w.named is null or s.id = w.named)
              and s.deleted_at is null
            order by outbound.usable(s) desc, s.is_default desc, s.id limit 1) s
    )
    select gen_random_uuid(), g.asked, outbound.sealed(g.fields), case
            when m.id is not null or g.turn > 1 then 'known'
            when not g.planned then 'unread'
            when g.send_at > ostinato.now() + make_interval(secs => ($3 ->> 'latest_seconds')::double precision)
                then 'late'
            when s.id is null then 'no_sender'
            when not s.usable and g.inbound_id is null then 'unproven'
            when r.refusal is not null then 'refused'
            when g.needs_window and not exists (
                select from inbound i where i.tenant_id = $1 and i.sender_id = s.id and i.from_address = g.to_address
                and i.received_at > ostinato.now() - make_interval(secs => ($3 ->> 'window_seconds')::double precision))
                then 'closed'
            else 'new' end,
        r.refusal, s.id, outbound.lanes(s.rate, ($3 -> 'rates' ->> g.channel)::double precision)
    from given g
    left join message m on m.tenant_id = $1 and m.idempotency_key = g.idempotency_key
    left join chosen s on s.channel = g.channel and s.named is not distinct from g.sender_id
    left join consent c on c.tenant_id = $1 and c.subject_id = g.subject_id and c.channel = g.channel
        and c.purpose = g.purpose
    cross join lateral (select case when g.inbound_id is null then outbound.consent_refusal(c, g.to_address, exists (
        select from suppression x where x.tenant_id = $1 and x.channel = g.channel and x.purpose = g.purpose
        and x.address_mac in (select outbound.sealed_address(decode(a, 'hex'))
            from unnest(g.address_macs) a))) end as refusal) r
$$;

-- Writes messages that are new, in the order of their keys; returns the ids of those whose key nobody took meanwhile.
create function outbound.add_messages(tenant_id text, judged outbound.judged[], correlation_id text)
returns setof uuid language sql set search_path = outbound, pg_catalog, pg_temp as $$
    insert into message (tenant_id, id, dossier_id, subject_id, channel, purpose, to_address, template_code, language,
        subject, payload, fingerprint, urgent, sender_id, idempotency_key, entity_type, entity_id, logical_event_id,
        recipient_ref, fallback_of, inbound_id, not_after, send_at, next_retry_at, waits_for, correlation_id)
    select $1, j.id, g.dossier_id, g.subject_id, g.channel, g.purpose, g.to_address, g.template_code, g.language,
        g.subject, g.payload, j.sealed::text, g.urgent, j.sender_id, g.idempotency_key, g.entity_type, g.entity_id,
        g.logical_event_id, g.recipient_ref, g.fallback_of, g.inbound_id, g.not_after, g.send_at, g.send_at,
        case when g.send_at is not null then 'SEND_AT' end, coalesce(g.correlation_id, $3)
    from unnest($2) j cross join lateral (select (j.asked).*) g
    where j.outcome = 'new' order by g.idempotency_key
    on conflict (tenant_id, idempotency_key) do nothing returning id
$$;

-- Accepts messages of a tenant; `results` has one for each of `asked`, in its order. `limits` are the numbers of the
-- rules: `latest_seconds`, `window_seconds`, `rates` by channel, and the `language` of who has chosen none. A message
-- of another request than the first has a `correlation_id` of its own.
create function outbound.accept_messages(
    tenant_id text, actor text, asked jsonb, seen jsonb, limits jsonb, correlation_id text,
    out results jsonb, out facts jsonb, out queues text[]
) language plpgsql
set search_path = outbound, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
    v_judged judged[];
    v_made   uuid[];
begin
    if seen is not null and outbound.is_outdated($1, seen) then
        facts := outbound.facts($1, seen -> 'templates', limits ->> 'language');
        return;
    end if;
    v_judged := array(select j from outbound.judge_messages($1, $3, limits) j order by (j.asked).n);
    v_made := array(select outbound.add_messages($1, v_judged, $6));
    v_judged := array(
        select row(j.id, j.asked, j.sealed,
            case when j.outcome = 'new' and m.id is null then 'known' else j.outcome end, j.refusal, j.sender_id,
            j.lanes)::judged
        from unnest(v_judged) with ordinality as j left join unnest(v_made) as m (id) on m.id = j.id
        order by j.ordinality);
    perform outbound.note_judged($1, $2, v_judged, $6);
    if cardinality(v_made) > 0 then
        queues := outbound.start_judged($1, v_judged) || '@relay'::text;
        perform outbound.emit_status($1, v_made, 'QUEUED');
    end if;
    -- With a snapshot of its own: what another transaction has committed under one of the keys meanwhile is seen.
    select jsonb_agg(jsonb_build_object('outcome', j.outcome, 'reason', j.refusal, 'id', coalesce(m.id, j.id), 'status',
        coalesce(m.status, 'QUEUED'), 'cancel_reason', m.cancel_reason, 'fingerprint', m.fingerprint, 'sealed',
        case when m.id is not null then j.sealed end, 'erased', m.to_address = '', 'sender_id', j.sender_id)
        order by (j.asked).n)
    into results from unnest(v_judged) j
    left join message m on j.outcome = 'known' and m.tenant_id = $1 and m.idempotency_key = (j.asked).idempotency_key;
end
$$;

-- Adds the jobs of messages that are new; returns their queues.
create function outbound.start_judged(tenant_id text, judged outbound.judged[]) returns text[] language sql
set search_path = outbound, pg_catalog, pg_temp as $$
    select outbound.start_sends($1, array_agg(j.id), array_agg((j.asked).send_at), array_agg(j.lanes))
    from unnest($2) j where j.outcome = 'new'
$$;

-- Emits the events of messages that reached a status: ids and codes, no recipient and no text. The events of a message
-- come in order.
create function outbound.emit_status(tenant_id text, ids uuid[], status text, reason text default null)
returns void language sql
set search_path = outbound, pg_catalog, pg_temp as $$
    with told as (
        select array_agg(json_build_object('message_id', m.id, 'status', $3, 'channel', m.channel, 'dossier_id',
                m.dossier_id, 'template_code', m.template_code, 'reason', $4)::text order by w.n) as payloads,
            array_agg('outbound:' || m.id order by w.n) as keys, array_agg(m.subject_id order by w.n) as subjects,
            array_agg(coalesce(m.correlation_id, 'outbound-' || m.id) order by w.n) as correlations
        from unnest($2) with ordinality as w (id, n) join message m on m.tenant_id = $1 and m.id = w.id)
    select count(e) from told, lateral ostinato.emit_events(
        array['outbound.message_status'], payloads, keys, null, array[$1], correlations, producers => array['outbound'],
        as_of_now => true, subjects => subjects) e
$$;

-- Accepts messages for a caller of the API, as a whole request.
create function outbound.accept_messages_as(
    as_tenant text, as_correlation text, as_user text, as_key bigint, actor text, asked jsonb, seen jsonb, limits jsonb,
    out results jsonb, out facts jsonb, out queues text[]
) language plpgsql
set search_path = outbound, pg_catalog, pg_temp as $$
begin
    perform ostinato.enter_tenant(as_tenant, as_correlation, as_user, as_key);
    select a.results, a.facts, a.queues into results, facts, queues
    from outbound.accept_messages(as_tenant, actor, asked, seen, limits, as_correlation) a;
end
$$;
