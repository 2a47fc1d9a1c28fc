"""The data path: from Kafka bytes to result blocks. `docs/architecture.md` follows it file by file."""
