"""The row operations that kernels are written in.

Where a slice ends is the same for every group, so a kernel decides once which rows are combined, and each
operation is for a whole row: one partial of every group of a shard. There are three kinds of rows: `slices`,
by their number; `store`, what the kernel keeps, by a place that it chooses; and `answers`.

Who carries an operation out is the first argument: compiled rows (rows.py), a tape that records it (tape.py),
or a workbench that shows what happens, with any Python value as a partial (workbench.py).
"""

from streaming.compiled import generic

CHUNK = 4  # slices that share one row, where a kernel saves rows so: a pass has registers for about so many


@generic
def groups_of(self):
    """How many groups there are; a constant where it is one, so that the loops vanish."""


@generic
def take(self, target, number):
    """store[target] = slice"""


@generic
def move(self, target, row):
    """store[target] = store[row]"""


@generic
def append(self, target, number):
    """store[target] = store[target] ⊕ slice"""


@generic
def extend(self, target, row, number):
    """store[target] = store[row] ⊕ slice, for another row than the target"""


@generic
def prepend(self, target, number, row):
    """store[target] = slice ⊕ store[row], for another row than the target"""


@generic
def join(self, target, older, newer):
    """store[target] = store[older] ⊕ store[newer], neither of them the target"""


@generic
def absorb(self, target, newer):
    """store[target] = store[target] ⊕ store[newer]"""


@generic
def append_run(self, target, first, last):
    """store[target] ⊕= slices first to last, one after the other"""


@generic
def suffixes(self, base, size, first, last):
    """store[base + i % size] = slices i to last, for i from last down to first"""


@generic
def chunk_totals(self, base, size, first, last):
    """store[base + i % size] = the slices of chunk i, for i from first to last"""


@generic
def chunk_suffixes(self, base, totals, size, first, last):
    """store[base + i % size] = chunks i to last, for i from last to first; each is a row from totals on"""


@generic
def append_each(self, target, count, number):
    """store[target + i] ⊕= slice, for every i below count"""


@generic
def sweep(self, out, target, count, number):
    """store[target + i] ⊕= slice, and answers[out + i] = store[target + i], for every i below count"""


@generic
def answer_none(self, out):
    """answers[out] = identity"""


@generic
def answer_row(self, out, row):
    """answers[out] = store[row]"""


@generic
def answer_rows(self, out, row, count):
    """answers[out + i] = store[row + i], for every i below count"""


@generic
def answer_join(self, out, older, newer):
    """answers[out] = store[older] ⊕ store[newer]"""


@generic
def glide(self, out, low, until, older, running, first, last):
    """store[running] ⊕= slices first to last; answers[out] = (slices low…until−1 ⊕ store[older]) ⊕ that"""


@generic
def glide_four(self, out, stride, until, older, running, first, total):
    """Four glides in one pass, the last with low = until; each takes one slice, and store[total] all four"""


@generic
def enter_slice(self, running, number):
    """store[running] takes the slice in"""


@generic
def leave_slice(self, running, number):
    """store[running] lets the slice go"""


@generic
def slide(self, running, entering, leaving):
    """Both at once: the usual case of a window that moves on by one slice"""


@generic
def slide_row(self, out, running, entering, leaving, first):
    """Slide and settle in one pass; `entering` is the last slice of the window that starts at `first`"""


@generic
def renew(self, running, first, last):
    """store[running] = slices first to last, whatever it was"""


@generic
def settle_row(self, out, running, first, last):
    """answers[out] = store[running] as a partial; one that is not intact is renewed: slices first to last"""


@generic
def difference(self, out, newer, older):
    """answers[out] = store[newer] without store[older], which it begins with"""


@generic
def room(self):
    """How many more operations can be taken."""
