-- name: count
select count(*) from laundry.basket;

-- name: add
insert into laundry.basket (tenant_id, speed) values (current_setting('app.tenant_id'), %(speed)s);
