-- Messages of several requests are accepted in one statement: each keeps the correlation id of its own request.
alter type outbound.asked add attribute correlation_id text;
