-- What answers STOP, HELP and START, by the language of who asks: {"en": {"stop": …, "help": …, "start": …}}.
-- The three texts beside it are for who reads a language that has none.
alter table outbound.organisation
    add column replies jsonb not null default '{}' check (jsonb_typeof(replies) = 'object');
