-- The statements of the coordination play.

-- name: prepare
-- What those who use the concepts write in their own transactions.
create table simulation.lease_write (tenant_id text not null, name text not null, token bigint not null);
create table simulation.key_effect (tenant_id text not null, key text not null, token bigint not null);
grant select, insert on simulation.lease_write, simulation.key_effect to ostinato_worker;

-- name: empty
-- Starts over.
delete from ostinato_data.lease;
delete from simulation.lease_write;
delete from ostinato_data.idempotency;
delete from simulation.key_effect;
select setval('ostinato_data.lease_token_seq', 1, false), setval('ostinato_data.idempotency_token_seq', 1, false);

-- name: leases
-- All leases.
select l.tenant_id, l.name, l.token, l.attempt, l.holder, l.lifetime from ostinato_data.lease l;

-- name: lease
-- One lease.
select l.token, l.attempt, l.holder from ostinato_data.lease l where (l.tenant_id, l.name) = ($1, $2);

-- name: lease_writes
-- What was written under the guard of leases.
select w.tenant_id, w.name, w.token from simulation.lease_write w;

-- name: write_lease
-- A write under the guard of a lease.
insert into simulation.lease_write (tenant_id, name, token) values ($1, $2, $3);

-- name: keys
-- All keys of requests.
select i.tenant_id, i.key, i.token, i.attempt, i.state from ostinato_data.idempotency i;

-- name: key_effects
-- What was done under them.
select e.tenant_id, e.key, e.token from simulation.key_effect e;

-- name: key_effect
-- An effect that must take place once.
insert into simulation.key_effect (tenant_id, key, token) values ($1, $2, $3);
