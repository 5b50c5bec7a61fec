-- Whether an organisation may send by what it has set up.

-- What a sender is proven by, its most particular proof first: a mail address before its domain.
create function outbound.proof_of(tenant_id text, provider text, provider_key text) returns outbound.ownership
language sql stable set search_path = outbound, pg_catalog, pg_temp as $$
    select o from ownership o where o.tenant_id = $1 and o.provider = $2
    and o.key in (lower($3 collate "C"), nullif(split_part(lower($3 collate "C"), '@', 2), ''))
    order by length(o.key) desc limit 1
$$;

-- Whether something may be sent by a sender: it is proven to be its tenant's, and there is an account to send it with.
create function outbound.usable(s outbound.sender) returns boolean
language sql stable set search_path = outbound, pg_catalog, pg_temp as $$
    select coalesce((select (s).credentials is not null or p.account
        from outbound.proof_of((s).tenant_id, (s).provider, (s).provider_key) p where p.tenant_id is not null), false)
$$;
