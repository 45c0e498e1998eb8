"""Which program serves a run, and in words why none did."""
