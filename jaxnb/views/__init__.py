"""Views: each draws a `Program`, and imports nothing of jaxnb but `program`, so that a saved one is drawn
anywhere."""
