"""Where arrays live: meshes and placements as plain data (`data`), read from jax's objects (`read`)."""
