"""Search: how `best` finds plans that no greedy rule reaches.

`partition` improves which windows share a tree, `forest` which trees are made of which, `balance` which node
runs what. All are deterministic: they end when nothing improves, or after a fixed number of evaluations.
"""
