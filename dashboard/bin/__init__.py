"""What people deleted: kept for a while, restored whole, or deleted for good."""
