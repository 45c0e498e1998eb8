"""The cells, one module a theme."""
