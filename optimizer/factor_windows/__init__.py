"""Factor windows: windows computed from the answers of other windows, asked for or added (FACTOR)."""
