"""`%%xmap`: a cell as one mapped statement, its values by their names, its line."""
