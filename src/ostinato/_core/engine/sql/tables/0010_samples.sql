-- Samples of the engine's figures, for charts and questions about yesterday. A log (functions/logs.sql).
create table ostinato_data.metric_sample (
    id      bigint           not null,
    at      timestamptz      not null,
    name    text             collate "C" not null,
    label   text             collate "C" not null,
    value   double precision not null,
    primary key (id)
) partition by range (id);
create table ostinato_data.metric_sample_default partition of ostinato_data.metric_sample default;
create index metric_sample_name_at on ostinato_data.metric_sample (name, at);

select ostinato_data.protect('metric_sample'), ostinato_data.protect('metric_sample_default');
