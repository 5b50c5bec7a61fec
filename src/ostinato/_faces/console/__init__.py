"""The console: the pages that people look at, served beside the API under `/console`."""
