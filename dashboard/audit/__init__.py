"""Who changed what, and when: a log that only grows."""
