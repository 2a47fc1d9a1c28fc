"""Crash rounds: exactly once, whatever ends when."""
