"""The lints: one module each, whose name is the kind of its findings and whose `LINT` says how they are found."""
