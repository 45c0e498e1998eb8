"""What is quietly wrong or slow: the lints are `rules`, which look at a traced program or at the text of a cell."""
