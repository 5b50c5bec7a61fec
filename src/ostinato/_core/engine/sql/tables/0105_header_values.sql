-- The values of static headers were in the clear: nearly always the password of the receiver. Clients seal them, all of
-- an endpoint in one text (ADR 16); beside it `headers` keeps the names. What was there stays readable in the clear
-- until `ostinato secrets rotate` seals it.
alter table ostinato_data.webhook_endpoint add column header_values text;
update ostinato_data.webhook_endpoint e
set header_values = e.headers::text,
    headers = (select json_object_agg(h.key, '') from json_each(e.headers) h)
where exists (select from json_object_keys(e.headers));
