"""Compiled readers of message bytes. They take what is plain and leave every doubtful message to others."""
