"""StableHLO modules, read into levels."""
