"""These commands inspect and change jobs, queues, schedules, webhooks and the schema."""
