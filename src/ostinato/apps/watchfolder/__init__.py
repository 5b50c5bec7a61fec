"""Watchfolder: scans in, searchable PDFs out."""
