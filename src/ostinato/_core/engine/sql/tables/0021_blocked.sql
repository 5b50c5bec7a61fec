-- The kind whose handler blocks the event loop of a worker, as of its last beat; null: none. Written by every beat.
alter table ostinato_data.worker add column blocked_by text;
