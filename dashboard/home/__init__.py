"""Home: what is going on, and the way to everything by its name."""
