-- Messages of which nobody knows whether they were sent wait for a person; they are counted every few seconds.
create index message_in_doubt on outbound.message (failed_at) where status = 'FAILED' and error_code = 'UNKNOWN_OUTCOME';
