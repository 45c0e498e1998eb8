"""The explanations, by what went wrong: each module has its `EXPLAINERS`."""
