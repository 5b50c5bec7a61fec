"""Brokers: events go out to RabbitMQ, NATS and Kafka, messages come in from RabbitMQ and NATS."""
