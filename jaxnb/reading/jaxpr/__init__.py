"""Jaxprs, read into levels, with the lines and names that they come from."""
