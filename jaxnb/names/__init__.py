"""What names are bound to as code runs: where byte code binds them, and what was seen there."""
