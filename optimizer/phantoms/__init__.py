"""Phantoms: group-bys that nobody asked for, kept because others are cheaply made of them (PHANTOM)."""
