create table waiting (id bigint generated always as identity primary key, body json not null);
create table done (id bigint primary key, body json not null, at timestamptz not null)
