"""What is quietly wrong or slow: each lint looks at a traced program, or at what ran."""
