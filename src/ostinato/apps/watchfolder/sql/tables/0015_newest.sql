-- What operators of the installation see is of all tenants: the newest files, the newest errors, and files by the words
-- of their names, each by an index of its own.
-- In the order of the page, so that a tenant's files are not sought among those of all.
create index job_newest_of_tenant on watchfolder.job (tenant_id, changed_at desc, job_key desc);
create index job_newest_of_all on watchfolder.job (changed_at desc, job_key desc);
create index job_last_error on watchfolder.job (changed_at desc) where state = 'ERROR';
create index job_on_its_way on watchfolder.job (state) where state not in ('DONE', 'ERROR');
create index job_name on watchfolder.job using gin (to_tsvector('simple', translate(file_name, '._-', '   ')));
