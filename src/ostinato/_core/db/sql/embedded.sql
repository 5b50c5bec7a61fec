-- What the embedded server needs beside the roles.

-- name: database_exists
-- Whether there is a database of this name.
select exists (select from pg_catalog.pg_database where datname = %(name)s);

-- name: create_database
-- A database of the owner, closed to everybody else. Copying the files takes half of the time of logging every page,
-- and a fifth where nothing waits for the disk.
create database {name} owner ostinato_owner template {template} strategy file_copy;

-- name: close_database
-- Only our roles may enter; nobody but the owner makes tables in it.
revoke all on database {name} from public;
grant connect, temporary on database {name} to ostinato_owner, ostinato_worker, ostinato_tenant, ostinato_api;

-- name: drop_database
-- Removes a database, and ends the sessions that are still connected to it.
drop database if exists {name} with (force);

-- name: rename_database
-- Gives a database that nobody is connected to another name.
alter database {name} rename to {to};

-- name: forget_fsync
-- For tests: what is lost with the machine is worth nothing.
alter system set fsync = off;

-- name: forget_pages
-- As above.
alter system set full_page_writes = off;

-- name: reload_settings
-- Has the server read them.
select pg_catalog.pg_reload_conf();

-- name: set_password
-- Gives the superuser the password of its file. One line: single-user mode ends a statement at the end of a line.
alter role {role} password {password};
