"""Connections, sources and queries as a file that a team can keep in git."""
