"""The cells, by what is wrong with them."""
