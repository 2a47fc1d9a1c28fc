"""Benchmarks of the kernels: against memory, against each other, and beside the papers' figures."""
