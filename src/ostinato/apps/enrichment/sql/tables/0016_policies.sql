-- What a tenant is shown of a company was decided by a hash of all its requests, made for every statement: the more it
-- had asked for, the slower each answer. `offset 0` keeps the look at one company one look into an index.
do $$
declare
    v_table text;
begin
    alter policy tenant on enrichment.company
        using (exists (select from enrichment.request r where r.company_siren = company.siren offset 0));
    foreach v_table in array '{company_document,company_source_retrieval,company_field_provenance}'::text[] loop
        execute format('alter policy tenant on enrichment.%1$I using (exists (select from enrichment.request r'
                       ' where r.company_siren = %1$I.company_siren offset 0))', v_table);
    end loop;
    alter policy tenant on enrichment.establishment using (exists (
        select from enrichment.request r
        where r.company_siren = establishment.company_siren and r.siret = establishment.siret offset 0));
end
$$;
