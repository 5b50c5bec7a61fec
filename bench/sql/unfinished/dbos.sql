select exists (select from dbos.workflow_status where status in ('ENQUEUED', 'PENDING', 'DELAYED'))
