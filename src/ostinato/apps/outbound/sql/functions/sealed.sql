-- Fingerprints of requests, and the list of those who opted out, sealed with the secret of this installation: who reads
-- their tables cannot try out numbers.

-- Seals each field of a fingerprint, name and value: the same again only for the same, and only here (an HMAC by
-- SHA-256).
create function outbound.sealed(fields jsonb) returns jsonb language sql stable security definer
set search_path = outbound, pg_catalog, pg_temp as $$
    select coalesce(jsonb_object_agg(f.key, left(encode(sha256(s.outer_key
        || sha256(s.inner_key || convert_to(f.key || chr(31) || f.value, 'UTF8'))), 'hex'), 32)), '{}')
    from jsonb_each_text($1) f, secret s where s.name = 'fingerprint'
$$;

-- Seals what stands for an address that wants nothing more, as the trigger of its table does. Without the secret it is
-- an error: nothing would be found, and people would be written to who opted out.
create function outbound.sealed_address(mac bytea) returns bytea language plpgsql stable security definer
set search_path = outbound, pg_catalog, pg_temp as $$
declare
    v_secret secret;
begin
    select * into strict v_secret from secret s where s.name = 'fingerprint';
    return sha256(v_secret.outer_key
        || sha256(v_secret.inner_key || convert_to('suppression' || chr(31), 'UTF8') || mac));
end
$$;
