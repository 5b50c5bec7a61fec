-- Base backups of this server that are in a repository, and when each was verified (backups.sql). Who looks after the
-- server sees here, from any machine, how old the last good one is.
create table ostinato_data.backup (
    label       text        collate "C" primary key,
    repository  text        not null,
    taken_at    timestamptz not null,
    bytes       bigint      not null,
    -- Of the server's log: a restore or a failover begins another, whose log continues no backup of this one.
    timeline    integer,
    verified_at timestamptz
);
select ostinato_data.protect('backup');
