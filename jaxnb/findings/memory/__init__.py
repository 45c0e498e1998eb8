"""Buffers that were given away or did not fit."""
