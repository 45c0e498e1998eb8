"""Tracers that stay, and arrays that are held."""
