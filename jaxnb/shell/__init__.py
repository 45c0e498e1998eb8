"""The side of IPython: magics, headers, commands, completion, what is shown and asked for. Thin."""
