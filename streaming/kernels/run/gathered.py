"""States of many groups combined place by place, in compiled code."""

import numpy as np

from streaming.aggregates.algebra import Algebra, combine
from streaming.compiled import compiled
from streaming.kernels.run.rows import Flat, U, flat, load, save


def gather_into(algebra: Algebra, places: np.ndarray, states: np.ndarray, store: np.ndarray) -> None:
    """store[:, places[i]] ⊕= states[:, i], one after the other."""
    _gather(algebra, _unwritable(places), _flat(_unwritable(states)), _flat(store))


def combine_rows(algebra: Algebra, older: np.ndarray, newer: np.ndarray) -> np.ndarray:
    """older[:, i] ⊕ newer[:, i] for every i."""
    result = np.empty(older.shape, older.dtype)
    one, other = (_flat(_unwritable(np.ascontiguousarray(each))) for each in (older, newer))
    _combine(algebra, one, other, _flat(result))
    return result


def _unwritable(array: np.ndarray) -> np.ndarray:
    """What is only read, whether it could be written to or not: so that one compiled function serves."""
    view = array.view()
    view.flags.writeable = False
    return view


def _flat(columns: np.ndarray) -> Flat:
    return flat(columns[:, None, :])


@compiled
def _gather(op, places, states, store):
    for i in range(U(len(places))):
        at = U(places[i])
        save(op, store, at, combine(op, load(op, store, at), load(op, states, i)))


@compiled
def _combine(op, older, newer, result):
    for i in range(older.size):
        save(op, result, i, combine(op, load(op, older, i), load(op, newer, i)))
