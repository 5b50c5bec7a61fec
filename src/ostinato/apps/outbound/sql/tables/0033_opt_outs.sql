-- The list of those who opted out is sealed with the secret of this installation too: without a setting that names one,
-- who reads the table could try out all numbers of a country.
update outbound.suppression x
set address_mac = sha256(s.outer_key
    || sha256(s.inner_key || convert_to('suppression' || chr(31), 'UTF8') || x.address_mac))
from outbound.secret s where s.name = 'fingerprint';

-- By whom it is written does not matter: workers of an earlier release know of no seal.
create function outbound.seal_suppression() returns trigger language plpgsql
set search_path = outbound, pg_catalog, pg_temp as $$
begin
    new.address_mac := outbound.sealed_address(new.address_mac);
    return new;
end $$;
create trigger sealed before insert on outbound.suppression for each row execute function outbound.seal_suppression();
