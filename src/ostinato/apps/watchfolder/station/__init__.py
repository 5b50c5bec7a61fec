"""What PREP and OCR are both made of: a queue, one caged child for each job, and HTTP around it."""
