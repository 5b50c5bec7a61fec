-- What a tenant cannot choose for others: the time, the kinds that it starts, the slots that it shares.

-- The row of test_clock says that a database was made for tests: only there can the time be moved. It is added by
-- use_test_clock, to an empty database, by a superuser; workers move the time, and no more.
delete from ostinato_data.test_clock where nullif(current_setting('ostinato.clock', true), '') is null;
revoke insert, delete on ostinato_data.test_clock from ostinato_worker;
