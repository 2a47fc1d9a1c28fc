"""One readable program for each peer: what a person would write to get the windows that are compared."""
