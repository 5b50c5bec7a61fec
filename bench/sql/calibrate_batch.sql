begin;
insert into waiting (body) select json_build_object('n', n) from generate_series(1, 200) as n;
with taken as (
    delete from waiting
    where id in (select id from waiting order by id limit 200 for update skip locked)
    returning id, body
)
insert into done select id, body, now() from taken;
commit;
