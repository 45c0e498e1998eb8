"""Views: each draws a `Program`, and imports nothing of jaxnb but what is plain data itself, so that a saved one is
drawn anywhere."""
