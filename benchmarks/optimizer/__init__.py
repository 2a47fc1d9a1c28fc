"""Benchmarks of the optimizer: how long plans take to make, and how good they are."""
