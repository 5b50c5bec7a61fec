-- Waiting for an event looks for one that came before the wait: by its key, in the order of the log.
create index event_log_key on ostinato_data.event_log (ordering_key, type, tenant_id, position) where ordering_key is not null;
