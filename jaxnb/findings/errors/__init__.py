"""What an error of JAX, or of a library on it, comes of: the operands, by the user's names, and what would be right."""
