insert into bench_bare (kind, args) values ('bench.noop', %s) returning id
