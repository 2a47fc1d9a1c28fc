"""FiBA: a finger B-tree over the slices; nodes on its two edges hold what lies between them and the middle.

operator   associative; order is kept
time       9 operations a slide and its answer, amortised, however long the window; 7 log n worst (counted
           with slices in order). The whole window is 1 operation. With d slices to the nearer end an answer
           takes about 3 log d, a late slice 4 log d (one that was missing amortised: nodes may be split)
space      n rows at most beside the slices, about half of them in use, and two for each level of the tree
published  Tangwongsan, Hirzel, Schneider: Optimal and General Out-of-Order Sliding-Window Aggregation.
           PVLDB 12(10), 2019; arities from 2 to 4
differs    nodes of an edge keep their own part beside print's running aggregate, so an edge is mended by one
           operation a node; the root counts as right edge, so the whole window is one operation, not two; a
           node that ran empty takes all of its neighbour where that fits; however many slices a leap evicts,
           what is left is mended once
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from streaming.compiled import generic, jitable
from streaming.kernels.base import Traits, answer_one_by_one, push
from streaming.kernels.run.operations import (
    absorb,
    answer_join,
    answer_none,
    answer_row,
    append,
    extend,
    join,
    take,
)

TRAITS = Traits("finger_tree", "FiBA", rewinds=True)

FULL = 4  # the greatest arity; a node has one slice less than its arity, a leaf too
KEPT = 3  # the arity of the older part of a node that is split: slices in order fill the newer part only
TOP, SPARE = 0, 1  # the height of the root, and how many nodes are not in use
NONE = -1


@generic
def insert(self, sink, number):
    """Take in a slice that was missing among older ones."""


class FingerTree(NamedTuple):
    """A node with slices s and children c reads c0 s0 c1 s1 … c; row i holds the own part of node i.

    That is all of its subtree, save for the child that lies on the same edge of the tree: without the first
    one on the left, the last one on the right, both in the root. Rows of an edge hold the own parts from a
    node up to the root, which belongs to the right edge; so the rows of the two fingers are the whole window.
    """

    traits = TRAITS
    widest: int  # slices that are this much older than the newest are evicted
    numbers: np.ndarray  # by node, its slices: one more than fits until it is split
    children: np.ndarray  # by node; none in a leaf
    arity: np.ndarray
    parent: np.ndarray  # of a node that is not the root
    height: np.ndarray  # over the leaves
    left: np.ndarray  # by height, the outermost node: from the left finger to the root
    right: np.ndarray
    spare: np.ndarray  # nodes that are not in use
    at: np.ndarray  # TOP, SPARE

    @classmethod
    def new(cls, spans: Sequence[int], first: int, commutative: bool, prefilled: bool = False) -> Self:
        widest = max(spans)
        nodes = widest + 4  # each has a slice, but for one that ran empty
        levels = nodes.bit_length() + 1
        tree = cls(
            widest,
            np.zeros((nodes, FULL), np.int64),
            np.full((nodes, FULL + 1), NONE, np.int64),
            np.ones(nodes, np.int64),
            np.full(nodes, NONE, np.int64),
            np.zeros(nodes, np.int64),
            np.full(levels, NONE, np.int64),
            np.full(levels, NONE, np.int64),
            np.arange(nodes - 1, -1, -1, dtype=np.int64),
            np.array([0, nodes], np.int64),
        )
        tree.left[0] = tree.right[0] = _opened(tree, 0)
        return tree

    def rows(self) -> int:
        return len(self.arity) + 2 * len(self.left) + 1

    def effort(self):
        return 36 * len(self.left)  # 4 nodes of 7 parts a level, and both edges, with room to spare

    def push(self, sink, number):
        _evict(self, sink, number - self.widest)
        leaf = self.right[0]
        alone = _is_empty(self)
        _wedge(self, leaf, number, NONE)
        if alone:
            take(sink, leaf, number)
        elif self.arity[leaf] > FULL:
            _split_up(self, sink, leaf)
        else:
            append(sink, leaf, number)
            if self.at[TOP] > 0:
                append(sink, _right_row(self, 0), number)

    def insert(self, sink, number):
        if _is_empty(self) or number > _newest(self):
            push(self, sink, number)
        elif number > _newest(self) - self.widest:
            _take_late(self, sink, number)

    def answer(self, sink, newest, low, query, out):
        if _is_empty(self) or low > _newest(self):
            answer_none(sink, out)
        elif low > self.numbers[self.left[0], 0]:
            answer_row(sink, out, _gathered_from(self, sink, low))
        elif self.at[TOP] == 0:
            answer_row(sink, out, self.right[0])
        else:
            answer_join(sink, out, _left_row(self, 0), _right_row(self, 0))

    answer_every = answer_one_by_one

    def amend(self, sink, number, newest):
        if number > newest - self.widest:
            insert(self, sink, number)
        return True


@jitable
def _is_empty(tree):
    return tree.arity[tree.left[0]] == 1


@jitable
def _newest(tree):
    leaf = tree.right[0]
    return tree.numbers[leaf, tree.arity[leaf] - 2]


@jitable
def _left_row(tree, height):
    """What lies from a node of the left edge up to the root's own part."""
    if height == tree.at[TOP] - 1:
        return tree.left[height]
    return len(tree.arity) + height


@jitable
def _right_row(tree, height):
    """What lies from the root's own part down to that of a node of the right edge."""
    if height == tree.at[TOP]:
        return tree.right[height]
    return len(tree.arity) + len(tree.left) + height


# ---- the shape of the tree


@jitable
def _opened(tree, height):
    """A node without slices."""
    tree.at[SPARE] -= 1
    node = tree.spare[tree.at[SPARE]]
    tree.arity[node] = 1
    tree.height[node] = height
    tree.children[node, :] = NONE
    return node


@jitable
def _close(tree, node):
    tree.spare[tree.at[SPARE]] = node
    tree.at[SPARE] += 1


@jitable
def _adopt(tree, node, place, child):
    tree.children[node, place] = child
    if child != NONE:
        tree.parent[child] = node


@jitable
def _wedge(tree, node, number, child):
    """Put a slice between those of a node, and a child behind it."""
    place = tree.arity[node] - 1
    while place > 0 and tree.numbers[node, place - 1] > number:
        tree.numbers[node, place] = tree.numbers[node, place - 1]
        tree.children[node, place + 1] = tree.children[node, place]
        place -= 1
    tree.numbers[node, place] = number
    _adopt(tree, node, place + 1, child)
    tree.arity[node] += 1


@jitable
def _behead(tree, node):
    """Drop a node's first child and first slice."""
    for place in range(tree.arity[node] - 1):
        tree.children[node, place] = tree.children[node, place + 1]
    for place in range(tree.arity[node] - 2):
        tree.numbers[node, place] = tree.numbers[node, place + 1]
    tree.arity[node] -= 1


@jitable
def _split(tree, node):
    """Give the newer part of a node to a new one, and the slice between the two to the parent."""
    height = tree.height[node]
    newer = _opened(tree, height)
    _adopt(tree, newer, 0, tree.children[node, KEPT])
    for place in range(KEPT, tree.arity[node] - 1):
        _wedge(tree, newer, tree.numbers[node, place], tree.children[node, place + 1])
    tree.arity[node] = KEPT
    if height == tree.at[TOP]:
        _raise_root(tree, node)
    if tree.right[height] == node:
        tree.right[height] = newer
    _wedge(tree, tree.parent[node], tree.numbers[node, KEPT - 1], newer)
    return newer


@jitable
def _raise_root(tree, node):
    tree.at[TOP] += 1
    root = _opened(tree, tree.at[TOP])
    _adopt(tree, root, 0, node)
    tree.left[tree.at[TOP]] = tree.right[tree.at[TOP]] = root


@jitable
def _drop_oldest(tree):
    """Evict one slice; how far up that was felt, and at which heights a neighbour lost something (bits)."""
    _behead(tree, tree.left[0])
    height, robbed = 0, 0
    while height < tree.at[TOP] and tree.arity[tree.left[height]] == 1:
        if _refill(tree, height):
            robbed |= 1 << height
        height += 1
    if tree.at[TOP] > 0 and tree.arity[tree.left[tree.at[TOP]]] == 1:
        _close(tree, tree.left[tree.at[TOP]])
        tree.at[TOP] -= 1
    return height, robbed


@jitable
def _refill(tree, height):
    """Fill a node of the left edge that ran empty from its neighbour; whether there still is one."""
    node, upper = tree.left[height], tree.left[height + 1]
    neighbour = tree.children[upper, 1]
    _wedge(tree, node, tree.numbers[upper, 0], tree.children[neighbour, 0])
    if tree.arity[neighbour] == FULL:
        tree.numbers[upper, 0] = tree.numbers[neighbour, 0]
        _behead(tree, neighbour)
        return True
    for place in range(tree.arity[neighbour] - 1):
        _wedge(tree, node, tree.numbers[neighbour, place], tree.children[neighbour, place + 1])
    if tree.right[height] == neighbour:
        tree.right[height] = node
    tree.children[upper, 1] = node
    _behead(tree, upper)
    _close(tree, neighbour)
    return False


# ---- what rows hold


@jitable
def _with(sink, found, row, target):
    """The row that holds what was found, with one more row behind it."""
    if found == NONE:
        return row
    if found == target:
        absorb(sink, target, row)
    else:
        join(sink, target, found, row)
    return target


@jitable
def _with_slice(sink, found, number, target):
    if found == NONE:
        take(sink, target, number)
    elif found == target:
        append(sink, target, number)
    else:
        extend(sink, target, found, number)
    return target


@jitable
def _with_parts(tree, sink, found, node, begin, target):
    """The row that holds what was found and then a node's parts from `begin` on.

    Part 2i is child i, 2i + 1 is slice i. On the right edge the last child is left out.
    """
    end = 2 * tree.arity[node] - 1
    if tree.right[tree.height[node]] == node:
        end -= 1
    for part in range(begin, end):
        if part % 2 == 1:
            found = _with_slice(sink, found, tree.numbers[node, part // 2], target)
        elif tree.height[node] > 0:
            found = _with(sink, found, tree.children[node, part // 2], target)
    return found


@jitable
def _renew(tree, sink, node):
    """Make a node's own part anew."""
    begin = 1 if tree.left[tree.height[node]] == node else 0
    _with_parts(tree, sink, NONE, node, begin, node)


@jitable
def _mend_edges(tree, sink, node):
    """An edge's node has changed: mend the edges it is part of, from there down to the finger."""
    left, right, top, height = tree.left, tree.right, tree.at[TOP], tree.height[node]
    if right[height] == node:
        for at in range(min(height, top - 1), -1, -1):
            join(sink, _right_row(tree, at), _right_row(tree, at + 1), right[at])
    if left[height] == node:
        for at in range(min(height, top - 2), -1, -1):
            join(sink, _left_row(tree, at), left[at], _left_row(tree, at + 1))


@jitable
def _is_inside(tree, node):
    height = tree.height[node]
    return tree.left[height] != node and tree.right[height] != node


@jitable
def _mend(tree, sink, node):
    """A node has changed: mend what holds it. On an edge no node above holds it."""
    _renew(tree, sink, node)
    while _is_inside(tree, node):
        node = tree.parent[node]
        _renew(tree, sink, node)
    _mend_edges(tree, sink, node)


@jitable
def _split_up(tree, sink, node):
    """Split a node that is too full, and those above that get too full by it."""
    newer, upper = NONE, node
    while tree.arity[upper] > FULL:
        node = upper
        newer = _split(tree, node)
        _renew(tree, sink, node)
        _renew(tree, sink, newer)
        upper = tree.parent[node]
    if tree.right[tree.height[node]] == newer and tree.arity[upper] > 2:  # its own part grew at the end
        absorb(sink, upper, node)
        append(sink, upper, tree.numbers[upper, tree.arity[upper] - 2])
        _mend_edges(tree, sink, upper)
    else:
        _mend(tree, sink, upper)


@jitable
def _evict(tree, sink, last):
    """Evict slices up to `last`. The shape first, so that a leap takes no more operations than a step."""
    felt, robbed = -1, 0
    while not _is_empty(tree) and tree.numbers[tree.left[0], 0] <= last:
        height, bits = _drop_oldest(tree)
        felt = max(felt, height)
        robbed |= bits
    if felt < 0 or _is_empty(tree):
        return
    felt = min(felt, tree.at[TOP])
    for height in range(felt + 1):
        if height < tree.at[TOP] and robbed >> height & 1 == 1:
            _renew(tree, sink, tree.children[tree.left[height + 1], 1])
        _renew(tree, sink, tree.left[height])
    _mend_edges(tree, sink, tree.left[felt])


# ---- slices that are not at an end


@jitable
def _branch(tree, number):
    """The lowest node of an edge under which a slice belongs.

    Up from both fingers at once, so that the nearer end counts.
    """
    for height in range(tree.at[TOP]):
        if number < tree.numbers[tree.left[height + 1], 0]:
            return tree.left[height]
        upper = tree.right[height + 1]
        if number > tree.numbers[upper, tree.arity[upper] - 2]:
            return tree.right[height]
    return tree.left[tree.at[TOP]]


@jitable
def _place_of(tree, node, number):
    """How many slices of a node are older."""
    place = 0
    while place < tree.arity[node] - 1 and tree.numbers[node, place] < number:
        place += 1
    return place


@jitable
def _find(tree, number):
    """The node that has a slice, or the leaf that should; and how many slices there are older."""
    node = _branch(tree, number)
    place = _place_of(tree, node, number)
    while tree.height[node] > 0 and not _has(tree, node, place, number):
        node = tree.children[node, place]
        place = _place_of(tree, node, number)
    return node, place


@jitable
def _has(tree, node, place, number):
    return place < tree.arity[node] - 1 and tree.numbers[node, place] == number


@jitable
def _take_late(tree, sink, number):
    node, place = _find(tree, number)
    if not _has(tree, node, place, number):
        _wedge(tree, node, number, NONE)
    if tree.arity[node] > FULL:
        _split_up(tree, sink, node)
    else:
        _mend(tree, sink, node)


@jitable
def _gathered_from(tree, sink, low):
    """The row that holds all from slice `low` on: up to an edge, and along the edges to the newest."""
    target = len(tree.arity) + 2 * len(tree.left)
    node, place = _find(tree, low)
    found = NONE
    if tree.height[node] == 0 and place == 0:
        found = node  # a leaf's own part is all of it
    else:
        found = _with_parts(tree, sink, found, node, 2 * place + 1, target)
    while _is_inside(tree, node):
        node = tree.parent[node]
        found = _with_parts(tree, sink, found, node, 2 * _place_of(tree, node, low) + 1, target)
    height = tree.height[node]
    if tree.right[height] == node:
        for at in range(height - 1, -1, -1):
            found = _with(sink, found, tree.right[at], target)
        return found
    if height + 1 < tree.at[TOP]:
        found = _with(sink, found, _left_row(tree, height + 1), target)
    return _with(sink, found, _right_row(tree, 0), target)
