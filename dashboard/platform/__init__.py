"""What sets Millrace up on a machine, starts it and keeps it running."""
