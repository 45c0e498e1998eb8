"""What can be said of a jaxpr without running it: lives, residuals, dead equations, named axes, figures."""
