"""Benchmarks beside peers: the same windows on the same topic, each peer in its best form."""
