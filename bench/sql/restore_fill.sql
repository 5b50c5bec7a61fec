create table if not exists filler as select n, repeat(md5(n::text), 62) as text from generate_series(1, %s) n
