"""Services that each worker runs for all: relay, ticker, janitor, alerts and webhooks."""
