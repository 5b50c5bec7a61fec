-- Alerts that people look after: acknowledged, or silenced for a while with a reason. The functions are in alerts.sql and
-- silences.sql.

-- What an alert says when its value is exactly 1: "1 dead letter". Null: the same as for others.
alter table ostinato_data.alert add column message_one text;
alter type ostinato_data.alert_line add attribute message_one text;
alter type ostinato_data.alert_line add attribute silenced_until timestamptz;

-- Somebody has seen it and works on it; it fires on.
alter table ostinato_data.alert_firing
    add column acknowledged_at timestamptz,
    add column acknowledged_by text,
    -- The event that was not sent because of a silence, and is when that ends: fired or resolved.
    add column owed            text collate "C" check (owed in ('fired', 'resolved'));
create index alert_firing_owed on ostinato_data.alert_firing (alert, label) where owed is not null;

-- One silence for a label of an alert, or for all of its labels (null). It ends by itself.
create table ostinato_data.alert_silence (
    id          bigint      primary key,
    alert       text        collate "C" not null,
    label       text        collate "C",
    until       timestamptz not null,
    reason      text        not null,
    silenced_by text        not null,
    silenced_at timestamptz not null,
    unique nulls not distinct (alert, label)
);

-- Only the engine: silences.sql says what a tenant may do.
select ostinato_data.protect('alert_silence');
