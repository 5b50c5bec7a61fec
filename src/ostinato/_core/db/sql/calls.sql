-- What connections need beside the calls themselves.

-- name: forget_plans
-- Drops the prepared statements of this session: one was made for a function that is no more.
deallocate all;

-- name: listen
-- Subscribes to the doorbell.
listen {channel};
