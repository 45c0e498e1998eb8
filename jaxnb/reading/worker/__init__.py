"""The process that compiles for machines that are not there, and how it is spoken to."""
