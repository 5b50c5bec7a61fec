-- Where tenants are that are not simply here: who moves between cells, and who has left (cells.sql). A tenant without a
-- row lives here, or was never heard of.
create table ostinato_data.tenant_place (
    tenant_id  text        collate "C" primary key,
    changed_at timestamptz not null,
    -- One move from its beginning to its end, on both sides.
    move_id    uuid,
    -- draining, closed, leaving: it is on its way to `cell`. coming: it is expected from `cell`. here: it came from
    -- there. left: it lives in `cell`.
    state      text        collate "C" not null
                           check (state in ('draining', 'closed', 'leaving', 'coming', 'here', 'left')),
    cell       text        collate "C" not null
);
-- Those whose jobs no worker may claim: few, and asked for by every claim.
create index tenant_place_moving on ostinato_data.tenant_place (tenant_id)
where state in ('draining', 'closed', 'leaving', 'coming');

select ostinato_data.protect('tenant_place', tenants => true);
grant select on ostinato_data.tenant_place to ostinato_tenant;
