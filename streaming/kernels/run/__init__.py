"""What runs a kernel: row operations compiled for a shard, or shown in Python, element by element."""
