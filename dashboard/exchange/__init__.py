"""Connections, sources, queries, dashboards and alerts as a file that a team can keep in git."""
