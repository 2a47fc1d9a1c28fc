"""Draws the kernels at work and writes the tables of docs/kernels.md, both from the kernels themselves."""
