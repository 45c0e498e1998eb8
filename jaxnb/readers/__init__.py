"""Readers: each turns one artifact (a cell's text, a jaxpr, ...) into a `Level` of a `Program`."""
