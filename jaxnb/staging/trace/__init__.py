"""From statements to a jaxpr: one piece of a cell, traced in the namespace of the user."""
