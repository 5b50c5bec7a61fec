create table laundry.basket (
    id        bigint generated always as identity primary key,
    tenant_id text not null,
    speed     int not null
);
do $do$
begin
    alter table laundry.basket enable row level security, force row level security;
    execute format('create policy engine on laundry.basket to %I, ostinato_worker using (true) with check (true)', current_user);
end
$do$;
create policy tenant on laundry.basket to ostinato_tenant
    using (tenant_id = current_setting('app.tenant_id', true)) with check (tenant_id = current_setting('app.tenant_id', true));
