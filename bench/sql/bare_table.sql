create table bench_bare (id bigint generated always as identity primary key, kind text not null, args json not null)
