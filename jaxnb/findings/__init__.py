"""What there is to say to the user about a cell: found, named, and with a fix that was tried where it could be.

`leaks` finds tracers that outlived their trace.
"""
