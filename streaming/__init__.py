"""The data path: from Kafka bytes to result blocks. `docs/streaming.md` follows it file by file."""
