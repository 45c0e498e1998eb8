"""Training steps of models as people write them: two lines in the cell, all else in functions, classes and modules."""
