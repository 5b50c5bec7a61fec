-- What connections need beside the calls themselves.

-- name: forget_plans
-- Drops the prepared statements of this session: one was made for a function that is no more.
deallocate all;

-- name: limit_idle
-- Sets how long this transaction may wait for its next statement, and only this one: a pooler lends the session on.
select pg_catalog.set_config('idle_in_transaction_session_timeout', %(limit)s, true);

-- name: listen
-- Subscribes to the doorbell.
listen {channel};

-- name: begin
-- Does nothing: a library begins its transaction with the first statement that it sends itself.
select;
