-- Where the next claim of a queue with key limits goes on: behind the last lane served, and behind the last lanes and keys that
-- were looked at, when there are more than one look holds.
alter table ostinato_data.claim_hint
    add column last_priority smallint, add column seen_priority smallint, add column seen_tenant text, add column seen_key text;
