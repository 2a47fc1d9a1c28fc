"""The web process and the pages: many viewers, long pasts, drawing, and screens that are left on."""
