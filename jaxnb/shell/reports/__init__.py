"""Notebooks from the command line: read, executed, summed up, written as a page."""
