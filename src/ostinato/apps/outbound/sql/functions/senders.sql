-- Whether an organisation may send by what it has set up; and who says whose it is: nobody who acts as a tenant.

-- Returns what a sender is proven by, its most particular proof first: a mail address before its domain.
create function outbound.proof_of(tenant_id text, provider text, provider_key text) returns outbound.ownership
language sql stable set search_path = outbound, pg_catalog, pg_temp as $$
    select o from ownership o where o.tenant_id = $1 and o.provider = $2 and o.left_at is null
    and o.key in (lower($3 collate "C"), nullif(split_part(lower($3 collate "C"), '@', 2), ''))
    order by length(o.key) desc limit 1
$$;

-- Returns whether something may be sent by a sender: it is proven to be its tenant's, and there is an account to send
-- it with.
create function outbound.usable(s outbound.sender) returns boolean
language sql stable set search_path = outbound, pg_catalog, pg_temp as $$
    select coalesce((select (s).credentials is not null or p.account
        from outbound.proof_of((s).tenant_id, (s).provider, (s).provider_key) p where p.tenant_id is not null), false)
$$;

-- Returns whether what a provider says of a key is for the organisation of a sender: nobody else has proven since that
-- it is his. Who writes STOP to a number that was given up last month means who wrote from it.
create function outbound.hears(s outbound.sender) returns boolean
language sql stable set search_path = outbound, pg_catalog, pg_temp as $$
    select exists (
        select from ownership o where o.tenant_id = (s).tenant_id and o.provider = (s).provider
        and o.key in (lower((s).provider_key collate "C"),
                      nullif(split_part(lower((s).provider_key collate "C"), '@', 2), '')))
$$;

-- Records the owner of a number, a name or a domain, unless another organisation has proven it before; a grant stays a
-- grant. Returns whether it was recorded. For the API, which has asked the provider or the domain.
create function outbound.claim_ownership(
    tenant_id text, provider text, key text, proof text, account boolean, by_whom text
) returns boolean language plpgsql security definer
set search_path = outbound, pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    if $4 not in ('META', 'DNS', 'TRUST') then
        raise exception using errcode = 'OS422', message = format('%s is no proof', $4),
            detail = json_build_object('proof', $4), hint = 'META, DNS or TRUST; grants are the administrator''s.';
    end if;
    insert into ownership as o (provider, key, tenant_id, proof, account, proven_by) values ($2, $3, $1, $4, $5, $6)
    on conflict (provider, key) do update set tenant_id = excluded.tenant_id,
        account = (o.account and o.left_at is null) or excluded.account,
        proof = case when o.proof = 'GRANT' then o.proof else excluded.proof end,
        proven_at = ostinato.now(), proven_by = excluded.proven_by, left_at = null
    where o.tenant_id = excluded.tenant_id or o.left_at is not null;
    if found and $4 <> 'TRUST' then  -- which is said again whenever the sender is written
        perform outbound.note_audit($1, 'SENDER_PROVEN', $6,
                                    details => jsonb_build_object('provider', $2, 'proof', $4));
        return true;
    end if;
    return found;
end
$$;

-- Leaves what an organisation has no sender for any more to anybody who proves it, except what the administrator
-- granted.
create function outbound.leave_ownership(tenant_id text, provider text, key text) returns void
language sql security definer set search_path = outbound, pg_catalog, pg_temp as $$
    update ownership o set left_at = ostinato.now()
    where o.tenant_id = $1 and $1 = coalesce(ostinato.acting_tenant(), $1)
    and o.provider = $2 and o.key = lower($3 collate "C") and o.proof <> 'GRANT'
$$;

-- Grants something to a tenant, as the administrator says, whatever was before.
create function outbound.grant_ownership(provider text, key text, tenant_id text, account boolean, by_whom text)
returns outbound.ownership language plpgsql security definer
set search_path = outbound, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_told   constant jsonb := jsonb_build_object('provider', $1, 'account', $4);
    v_before text;
    v_owned  ownership;
begin
    select o.tenant_id into v_before from ownership o
    where o.provider = $1 and o.key = $2 and o.left_at is null for update;
    insert into ownership as o (provider, key, tenant_id, proof, account, proven_by)
    values ($1, $2, $3, 'GRANT', $4, $5)
    on conflict (provider, key) do update set tenant_id = excluded.tenant_id, proof = excluded.proof,
        account = excluded.account, proven_at = ostinato.now(), proven_by = excluded.proven_by, left_at = null
    returning o.* into v_owned;
    if v_before <> $3 then
        perform outbound.note_audit(v_before, 'SENDER_WITHDRAWN', $5, details => v_told);
    end if;
    perform outbound.note_audit($3, 'SENDER_GRANTED', $5, details => v_told);
    return v_owned;
end
$$;

-- Takes something from its tenant, as the administrator says: no row, if it was nobody's.
create function outbound.withdraw_ownership(provider text, key text, by_whom text)
returns setof outbound.ownership language plpgsql security definer
set search_path = outbound, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_owned ownership;
begin
    delete from ownership o where o.provider = $1 and o.key = $2 returning o.* into v_owned;
    if found then
        perform outbound.note_audit(v_owned.tenant_id, 'SENDER_WITHDRAWN', $3,
                                    details => jsonb_build_object('provider', $1));
        return next v_owned;
    end if;
end
$$;

-- Lists the numbers, names and domains with their owners, of one organisation or of all (null).
create function outbound.owners(of_tenant text) returns setof outbound.ownership
language sql stable security definer set search_path = outbound, pg_catalog, pg_temp as $$
    select o.* from ownership o where o.left_at is null and ($1 is null or o.tenant_id = $1)
    order by o.tenant_id, o.provider, o.key
$$;
