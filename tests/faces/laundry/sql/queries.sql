-- name: count
-- How many baskets were washed, of those that this connection sees.
select count(*) from laundry.basket;

-- name: washed
-- How many baskets were washed, by all tenants together.
select laundry.washed();

-- name: add
-- A basket of a tenant.
insert into laundry.basket (tenant_id, speed) values (%(tenant)s, %(speed)s);
