insert into waiting (body) values ('{"n": 1}');
