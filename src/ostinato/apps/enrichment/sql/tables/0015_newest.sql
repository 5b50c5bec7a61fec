-- The newest requests of all tenants, for operators of the installation.
create index request_newest_of_all on enrichment.request (created_at desc);
