"""Benchmarks: each module or package with a `main(quick, progress)` is run by `./millrace bench NAME`."""
