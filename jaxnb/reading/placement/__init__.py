"""Where arrays lie: meshes, shardings and layouts of live programs."""
