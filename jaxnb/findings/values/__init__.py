"""Values that a trace needs, and fixes that were tried."""
