"""The text of a cell: its statements, what they refer to and reach. Nothing here knows jax."""
