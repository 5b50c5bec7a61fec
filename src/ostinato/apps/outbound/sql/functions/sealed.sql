-- Fingerprints of requests, sealed with the secret of this installation: who reads the table of messages cannot try out
-- numbers.

-- Seals each field of a fingerprint, name and value: the same again only for the same, and only here (an HMAC by
-- SHA-256).
create function outbound.sealed(fields jsonb) returns jsonb language sql stable security definer
set search_path = outbound, pg_catalog, pg_temp as $$
    select coalesce(jsonb_object_agg(f.key, left(encode(sha256(s.outer_key
        || sha256(s.inner_key || convert_to(f.key || chr(31) || f.value, 'UTF8'))), 'hex'), 32)), '{}')
    from jsonb_each_text($1) f, secret s where s.name = 'fingerprint'
$$;
