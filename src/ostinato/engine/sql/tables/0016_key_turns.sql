-- Where the next claim of a queue with key limits goes on among the keys: there may be more than one look holds.
alter table ostinato_data.claim_hint add column last_key text;
