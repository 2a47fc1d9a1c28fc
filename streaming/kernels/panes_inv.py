"""Panes (Inv): one running aggregate; what enters is added, what leaves is taken off.

operator   invertible
time       2 operations a slide, amortised and worst (n where a sum has to be made anew); one query only
space      one row beside the slices
published  Li, Maier, Tufte, Papadimos, Tucker: No Pane, No Gain. SIGMOD Record 34(1), 2005; later also as
           R-Int and Subtract-on-Evict
differs    as SlickDeque (Inv), which is the same idea for many queries
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from streaming.kernels.base import Traits
from streaming.kernels.slickdeque_inv import SlickDequeInv

TRAITS = Traits("panes_inv", "Panes (Inv)", "invertible", many=False, running=True)


class PanesInv(NamedTuple):
    traits = TRAITS
    low: np.ndarray
    newest: np.ndarray
    kept: np.ndarray
    span: int

    @classmethod
    def new(cls, spans: Sequence[int], first: int, commutative: bool, prefilled: bool = False) -> Self:
        return cls(*SlickDequeInv.new(spans, first, commutative, prefilled))

    rows = SlickDequeInv.rows
    effort = SlickDequeInv.effort
    push = SlickDequeInv.push
    answer = SlickDequeInv.answer
    forget = SlickDequeInv.forget
    answer_every = SlickDequeInv.answer_every
    amend = SlickDequeInv.amend
