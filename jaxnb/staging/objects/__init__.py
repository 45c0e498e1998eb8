"""The objects that a cell reaches: walked, compared, held, changed and put back."""
