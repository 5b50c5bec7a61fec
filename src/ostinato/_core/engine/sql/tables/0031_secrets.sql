-- Secrets are sealed by clients (ADR 16): the database stores `ost1:<key id>:<base64>` and never has the key. So people
-- need the end of a webhook's secret beside it, and enqueueing must know which arguments of a kind are secret.
alter table ostinato_data.webhook_secret add column hint text;
update ostinato_data.webhook_secret set hint = right(rtrim(secret, '='), 4);
alter table ostinato_data.webhook_secret alter column hint set not null;

alter table ostinato_data.kind add column secret_args text[] not null default '{}';
