"""Optimized modules of XLA, and what they say of buffers and memory."""
