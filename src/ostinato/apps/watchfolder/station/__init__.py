"""What PREP and OCR share: HTTP, a queue, and for each job a worker process in a sandbox."""
