"""Cells on a cluster against the same cells in one process, and what is refused."""
