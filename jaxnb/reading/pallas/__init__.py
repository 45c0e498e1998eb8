"""Kernels of Pallas: what each step of their grids reads and writes, without running or compiling any."""
