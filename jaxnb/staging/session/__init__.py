"""One run of a cell, from its text to what it binds, and the session that remembers it."""
