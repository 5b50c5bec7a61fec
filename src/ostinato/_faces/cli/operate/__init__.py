"""Commands that look at something and change it: jobs, queues, schedules, webhooks, the schema."""
