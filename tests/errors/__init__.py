"""What people get wrong in JAX: cells that fail, or that are silently wrong, and what has to be said of each."""
