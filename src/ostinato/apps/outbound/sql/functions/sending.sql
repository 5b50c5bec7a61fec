-- What a worker writes of messages: that attempts begin, that the provider has them, that they arrived. Each is one
-- call for as many as there are, in a transaction that the caller fences; the caller has locked the messages, except
-- where it is said.


-- Notes how an attempt ended. One that was taken may fail later, and one whose outcome was unknown may turn out to be
-- taken; else its end stays.
create function outbound.end_attempt(
    tenant_id text, message_id uuid, attempt_no integer, status text, error_code text default null,
    error_class text default null, error_message text default null, provider_response jsonb default '{}',
    next_retry_at timestamptz default null, counted boolean default true
) returns void language sql
set search_path = outbound, pg_catalog, pg_temp as $$
    update attempt a set status = $4, error_code = $5, error_class = $6, error_message = $7, provider_response = $8,
        next_retry_at = $9, counted = $10, ended_at = ostinato.now()
    where a.tenant_id = $1 and a.message_id = $2 and a.attempt_no = $3
      and (a.status = 'TRYING' or (a.status = 'SUCCESS' and $4 = 'FAILED')
      or (a.error_code = 'UNKNOWN_OUTCOME' and $4 = 'SUCCESS'))
$$;

-- Notes by which other numbers WhatsApp knows recipients. Pairs are locked in their order.
create function outbound.note_wa_ids(tenant_id text, told outbound.told[]) returns void
language sql set search_path = outbound, pg_catalog, pg_temp as $$
    insert into pair (tenant_id, sender_id, address, wa_id)
    select distinct on (m.sender_id, m.to_address) $1, m.sender_id, m.to_address, w.wa_id
    from unnest($2) w join message m on m.tenant_id = $1 and m.id = w.id
    where w.wa_id <> m.to_address order by m.sender_id, m.to_address, w.n desc
    on conflict (tenant_id, sender_id, address) do update set wa_id = excluded.wa_id
    where outbound.pair.wa_id is distinct from excluded.wa_id
$$;

-- Notes what the provider calls messages.
create function outbound.note_provider_ids(tenant_id text, told outbound.told[]) returns void
language sql set search_path = outbound, pg_catalog, pg_temp as $$
    update message m set provider_message_id = w.provider_message_id, updated_at = ostinato.now()
    from (select distinct on (t.id) t.id, t.provider_message_id from unnest($2) t order by t.id, t.n) w
    where m.tenant_id = $1 and m.id = w.id and m.provider_message_id is null
$$;

-- Notes that attempts were taken; one that has another end keeps it, unless that was that nobody knew.
create function outbound.end_taken(tenant_id text, told outbound.told[]) returns void
language sql set search_path = outbound, pg_catalog, pg_temp as $$
    update attempt a set status = 'SUCCESS', error_code = null, error_class = null, error_message = null,
        provider_response = w.response, next_retry_at = null, counted = true, ended_at = ostinato.now()
    from unnest($2) w
    where a.tenant_id = $1 and a.message_id = w.id and a.attempt_no = w.attempt_no
      and (a.status = 'TRYING' or a.error_code = 'UNKNOWN_OUTCOME')
$$;

-- Returns the changes that clear the trouble of a message: it arrived at its provider, or its reader.
create function outbound.nothing_wrong() returns jsonb language sql immutable as $$
    select '{"unknown_until": null, "next_retry_at": null, "waits_for": null, "failed_at": null,
        "dead_lettered_at": null, "dead_reason": null, "error_code": null, "error_class": null,
        "error_message": null}'::jsonb
$$;

-- Takes a token of a pair of sender and recipient, if there is one: `burst` at most, and one more every so many
-- seconds.
-- One statement, so that of two messages that want the last one only one gets it. Returns what is left without one,
-- null if it was taken.
create function outbound.take_token(
    tenant_id text, sender_id bigint, address text, burst double precision, seconds double precision
) returns double precision language plpgsql
set search_path = outbound, pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    insert into pair as p (tenant_id, sender_id, address, tokens, counted_at)
    values ($1, $2, $3, $4 - 1, ostinato.now())
    on conflict (tenant_id, sender_id, address) do update set counted_at = excluded.counted_at,
        tokens = least($4, p.tokens + greatest(0, extract(epoch from excluded.counted_at - p.counted_at)) / $5) - 1
    where least($4, p.tokens + greatest(0, extract(epoch from excluded.counted_at - p.counted_at)) / $5) >= 1;
    if found then
        return null;
    end if;
    return coalesce((select least($4, p.tokens + greatest(0, extract(epoch from ostinato.now() - p.counted_at)) / $5)
        from pair p where p.tenant_id = $1 and p.sender_id = $2 and p.address = $3), 0);
end
$$;

-- Notes attempts, before the provider is called; with `bursts`, if the recipients' pairs have a token for each. Pairs
-- are locked in their order. Returns what is left without a token; null: it begins.
create function outbound.begin_attempts(
    tenant_ids text[], ids uuid[], numbers integer[], modes text[], job_ids bigint[], correlations text[],
    bursts double precision[], senders bigint[], addresses text[], actor text, seconds double precision
) returns table (id uuid, tokens double precision) language plpgsql
set search_path = outbound, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_tenant text;
    v_tokens double precision[];
begin
    select array_agg(t.tokens order by t.n) into v_tokens
    from (select w.n, case when w.burst is not null then
              outbound.take_token(w.tenant_id, w.sender_id, w.address, w.burst, begin_attempts.seconds) end as tokens
          from (select * from unnest($1, $2, $7, $8, $9)
                with ordinality g (tenant_id, id, burst, sender_id, address, n)
                order by g.tenant_id, g.sender_id, g.address, g.id) w) t;
    insert into attempt (tenant_id, message_id, attempt_no, mode, job_id)
    select w.tenant_id, w.id, w.attempt_no, w.mode, w.job_id
    from unnest($1, $2, $3, $4, $5, v_tokens) with ordinality w (tenant_id, id, attempt_no, mode, job_id, tokens, n)
    where w.tokens is null order by w.n;
    for v_tenant in select distinct t from unnest(tenant_ids) t order by t loop
        perform outbound.begin_messages(v_tenant, array_agg(w.id), array_agg(w.attempt_no), array_agg(w.correlation_id),
                                        begin_attempts.actor)
        from (select * from unnest($1, $2, $3, $6, v_tokens)
              with ordinality g (tenant_id, id, attempt_no, correlation_id, tokens, n) order by g.n) w
        where w.tenant_id = v_tenant and w.tokens is null having count(*) > 0;
    end loop;
    return query select w.id, w.tokens from unnest($2, v_tokens) w (id, tokens);
end
$$;

-- Lets messages whose attempts begin be sent.
create function outbound.begin_messages(
    tenant_id text, ids uuid[], numbers integer[], correlations text[], actor text
) returns void language sql
set search_path = outbound, pg_catalog, pg_temp as $$
    select count(*) from ostinato.transition_all('outbound_message', 'outbound.message', $2::text[], 'send', by => $5,
        tenant_id => $1, correlation_ids => $4, changes => json_build_object('next_retry_at', null, 'waits_for', null,
        'updated_at', ostinato.now()));
    select outbound.note_messages($1, $2, 'NOTIFICATION_SENDING', $5,
        details => array(select jsonb_build_object('attempt_no', w.number)
                         from unnest($3) with ordinality w (number, n) order by w.n))
$$;

-- Notes that messages were sent, on their timelines and in the audit, and emits their events.
create function outbound.note_sent(tenant_id text, told outbound.told[], actor text) returns void language sql
set search_path = outbound, pg_catalog, pg_temp as $$
    select outbound.note_messages($1, array_agg(w.id order by w.n), 'NOTIFICATION_SENT', $3, 'SENT',
        array_agg(jsonb_build_object('attempt_no', w.attempt_no) order by w.n))
    from unnest($2) w;
    select outbound.emit_status($1, array(select w.id from unnest($2) w order by w.n), 'SENT')
$$;

-- Notes that the provider has messages; callbacks may have said so before.
create function outbound.note_taken(tenant_id text, told outbound.told[], actor text) returns void language plpgsql
set search_path = outbound, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_new   told[];
    v_known told[];
begin
    select array_agg(w order by w.n) filter (where m.status not in ('SENT', 'DELIVERED', 'CANCELLED')),
        array_agg(w) filter (where m.status in ('SENT', 'DELIVERED', 'CANCELLED'))
    into v_new, v_known from unnest($2) w join message m on m.tenant_id = $1 and m.id = w.id;
    perform outbound.end_taken($1, $2), outbound.note_wa_ids($1, $2);
    if v_known is not null then
        perform outbound.note_provider_ids($1, v_known);
    end if;
    if v_new is null then
        return;
    end if;
    perform outbound.move_told($1, v_new, 'accept', $3, json_agg(outbound.nothing_wrong() || jsonb_build_object(
        'id', w.id, 'sent_at', coalesce(w.at, ostinato.now()), 'provider_message_id', w.provider_message_id)))
    from unnest(v_new) w;
    perform outbound.note_sent($1, v_new, $3);
end
$$;

-- Lets the machine move messages, as what is told of each says.
create function outbound.move_told(tenant_id text, told outbound.told[], event text, actor text, changes json)
returns void language sql
set search_path = outbound, pg_catalog, pg_temp as $$
    select count(*) from ostinato.transition_all('outbound_message', 'outbound.message',
        array(select w.id::text from unnest($2) w order by w.n), $3, by => $4, tenant_id => $1, changes => $5,
        correlation_ids => array(select w.correlation_id from unnest($2) w order by w.n))
$$;

-- Settles attempts that the provider took: the messages are locked here, in the order of their ids. If a callback was
-- first, its word stands.
create function outbound.settle_taken(told outbound.told[], actor text) returns void language plpgsql
set search_path = outbound, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_tenant text;
    v_open   told[];
    v_known  told[];
begin
    perform from message m join unnest($1) w on m.tenant_id = w.tenant_id and m.id = w.id order by m.id for update of m;
    for v_tenant in select distinct w.tenant_id from unnest($1) w order by 1 loop
        select array_agg(w order by w.n) filter (where a.status = 'TRYING'),
            array_agg(w order by w.n) filter (where a.status is distinct from 'TRYING')
        into v_open, v_known from unnest($1) w
        left join attempt a on a.tenant_id = w.tenant_id and a.message_id = w.id and a.attempt_no = w.attempt_no
        where w.tenant_id = v_tenant;
        if v_open is not null then
            perform outbound.note_taken(v_tenant, v_open, $2);
        end if;
        if v_known is not null then
            perform outbound.note_provider_ids(v_tenant, v_known);
        end if;
    end loop;
end
$$;

-- Notes that messages arrived; `sent` may come later, or never: what arrived was sent.
create function outbound.note_delivered(tenant_id text, told outbound.told[], actor text, told_by text) returns void
language plpgsql
set search_path = outbound, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_unsent told[];
    v_ids    constant uuid[] := array(select w.id from unnest($2) w order by w.n);
    v_changes json;
begin
    select array_agg(w order by w.n) filter (where m.sent_at is null), json_agg(outbound.nothing_wrong()
        || jsonb_build_object('id', w.id, 'sent_at', coalesce(m.sent_at, w.at), 'delivered_at', w.at))
    into v_unsent, v_changes from unnest($2) w join message m on m.tenant_id = $1 and m.id = w.id;
    perform outbound.note_wa_ids($1, $2), outbound.end_taken($1, $2),
        outbound.move_told($1, $2, 'deliver', $3, v_changes);
    if v_unsent is not null then
        perform outbound.note_sent($1, v_unsent, $3);
    end if;
    perform outbound.note_messages($1, v_ids, 'NOTIFICATION_DELIVERED', $4, 'DELIVERED'),
        outbound.emit_status($1, v_ids, 'DELIVERED');
end
$$;

-- Finds what lines of callbacks speak of, and locks the messages in the order of their ids: how each stands, which
-- attempt is meant (the last, where none is named), and whether the line came before. A line whose message is not there
-- is not among them.
create function outbound.find_told(
    tenant_ids text[], ids uuid[], provider_ids text[], numbers integer[], providers text[], reported text[],
    ats timestamptz[], codes text[]
) returns table (
    n bigint, id uuid, status text, attempt_no integer, attempt_status text, error_code text, is_alone boolean,
    is_known boolean
) language plpgsql
set search_path = outbound, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_ids uuid[];
begin
    v_ids := array(
        select coalesce(m.id, p.id) from unnest($1, $2, $3) with ordinality w (tenant_id, id, provider_id, n)
        left join message m on m.tenant_id = w.tenant_id and m.id = w.id
        left join lateral (select x.id from message x where m.id is null and x.tenant_id = w.tenant_id
                           and x.provider_message_id = w.provider_id limit 1) p on true
        order by w.n);
    perform from message m
    join (select distinct t, i from unnest($1, v_ids) w (t, i)) d on m.tenant_id = d.t and m.id = d.i
    order by m.id for update of m;
    return query
    select w.n, m.id, m.status, a.attempt_no, a.status, a.error_code, not exists (
            select from attempt b where b.tenant_id = m.tenant_id and b.message_id = m.id
            and b.attempt_no <> a.attempt_no and b.status in ('TRYING', 'SUCCESS')),
        exists (select from callback_line l where l.tenant_id = w.tenant_id and l.provider = w.provider
            and l.provider_message_id = w.provider_id and l.status = w.reported and l.at = w.at
            and l.error_code = w.code)
    from unnest($1, v_ids, $3, $4, $5, $6, $7, $8)
        with ordinality w (tenant_id, id, provider_id, number, provider, reported, at, code, n)
    join message m on m.tenant_id = w.tenant_id and m.id = w.id
    join lateral (
        select x.attempt_no, x.status, x.error_code from attempt x
        where x.tenant_id = m.tenant_id and x.message_id = m.id and (w.number is null or x.attempt_no = w.number)
        order by x.attempt_no desc limit 1) a on true
    order by w.n;
end
$$;

-- Writes what lines of callbacks say of messages that `find_told` has locked: each line, so that it counts once, and
-- what it means. Of a message one line at most means that it was sent, and one that it arrived.
create function outbound.note_told(told outbound.told[], actor text, told_by text) returns void language plpgsql
set search_path = outbound, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_tenant    text;
    v_taken     told[];
    v_delivered told[];
    v_meant     told[];
begin
    insert into callback_line (tenant_id, provider, provider_message_id, status, at, error_code)
    select w.tenant_id, w.provider, w.provider_message_id, w.status, w.line_at, '' from unnest($1) w order by w.n
    on conflict do nothing;
    for v_tenant in select distinct w.tenant_id from unnest($1) w order by 1 loop
        select array_agg(w order by w.n) filter (where w.event = 'accept'),
            array_agg(w order by w.n) filter (where w.event = 'deliver'),
            array_agg(w order by w.n) filter (where w.event is not null)
        into v_taken, v_delivered, v_meant from unnest($1) w where w.tenant_id = v_tenant;
        if v_taken is not null then
            perform outbound.note_taken(v_tenant, v_taken, $2);
        end if;
        if v_delivered is not null then
            perform outbound.note_delivered(v_tenant, v_delivered, $2, $3);
        end if;
        if v_meant is not null then
            perform outbound.note_provider_ids(v_tenant, v_meant);
        end if;
    end loop;
    update message m set read_at = coalesce(m.read_at, w.at)
    from (select distinct on (t.tenant_id, t.id) t.tenant_id, t.id, t.at from unnest($1) t
          where t.is_read order by t.tenant_id, t.id, t.n) w
    where m.tenant_id = w.tenant_id and m.id = w.id and m.read_at is null;
end
$$;
