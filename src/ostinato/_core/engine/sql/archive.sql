-- What writes rows into files (archive.py): each as a line of JSON. A line break in JSON is white space, so it may go;
-- and no other character of it is one that this form of copying would quote.

-- name: copy_week
-- The rows of a week, by their key.
copy (select pg_catalog.translate(pg_catalog.row_to_json(t)::text, e'\n\r', '  ') from {table} t order by {keys})
to stdout (format csv, quote e'\x01', delimiter e'\x02');

-- name: copy_late
-- Late rows, each with the name of its table.
copy (select pg_catalog.translate(
          pg_catalog.json_build_object('table', t.source, 'row', t.line::json)::text, e'\n\r', '  ')
      from ostinato_data.archive_late t where t.id between {first} and {last} order by t.id)
to stdout (format csv, quote e'\x01', delimiter e'\x02');

-- name: count
-- How many rows a week has.
select count(*) from {table};
