"""Which kernel is drawn on which example, and what is said beside it."""

from kernel_drawings.deque import deque_body
from kernel_drawings.examples import EXACT_3_5, MAX_3_5, MAX_5, MAX_5_2, SUM_3_5, SUM_5
from kernel_drawings.fat_tree import draw_flatfat
from kernel_drawings.film import Film, draw_film
from kernel_drawings.finger_tree import draw_finger_tree
from kernel_drawings.legend import KEPT, NOTHING, READ, WRITTEN
from kernel_drawings.levels import b_int_body, sparse_body
from kernel_drawings.pointers import daba_body, daba_lite_body, flatfit_body
from kernel_drawings.rows import (
    accumulators_body,
    panes_body,
    prefix_body,
    stacks_body,
    stacks_lite_body,
    van_herk_body,
)
from kernel_drawings.running import running_body
from streaming.kernels import KERNELS

FILMS = (
    Film(
        "slickdeque_inv",
        SUM_3_5,
        ("Each range has a running sum. What enters is added, what leaves is taken off.",),
        running_body,
        tall=92,
        first=-5,
        legend=(WRITTEN, ("slice", "slice"), NOTHING),
    ),
    Film(
        "slickdeque_noninv",
        MAX_3_5,
        (
            "A new partial takes every tail off that it beats. What is left falls from head to tail.",
            "An answer is the first node inside its window; blue numbers say of which range.",
        ),
        deque_body,
        tall=56,
        first=0,
        legend=(WRITTEN, KEPT, ("gone", "lost to the new one, or left the window"), ("read", "an answer")),
    ),
    Film(
        "flatfit",
        MAX_5,
        (
            "A place holds an aggregate and points to the slice that follows it. An answer follows",
            "the pointers from the window's start; what it passes then reaches all the way to the end.",
        ),
        flatfit_body,
        tall=66,
        first=-4,
        legend=(WRITTEN, KEPT, READ, NOTHING),
        beside=MAX_5_2,
        more=1,
    ),
    Film(
        "b_int",
        MAX_5,
        ("Intervals of 1, 2 and 4 slices. The longest that fit make up the window.",),
        b_int_body,
        tall=98,
        first=-4,
        legend=(WRITTEN, KEPT, READ, NOTHING),
    ),
    Film(
        "panes",
        MAX_5,
        ("Nothing is kept: every window is folded from its slices anew.",),
        panes_body,
        tall=38,
        first=-4,
        legend=(("read", "slices that are folded"), NOTHING),
    ),
    Film(
        "panes_inv",
        SUM_5,
        ("One running sum. What enters is added, what leaves is taken off.",),
        running_body,
        tall=66,
        first=-5,
        legend=(WRITTEN, ("slice", "slice"), NOTHING),
    ),
    Film(
        "two_stacks",
        MAX_5,
        (
            "Front entries reach up to the line, back entries from it on. A window is one of each.",
            "When the front is used up (steps 5 and 10) the back is flipped onto it.",
        ),
        stacks_body,
        tall=48,
        first=-4,
        legend=(WRITTEN, KEPT, READ, NOTHING, ("blue", "front"), ("green", "back")),
    ),
    Film(
        "two_stacks_lite",
        MAX_5,
        ("The front is as in TwoStacks; the back is one aggregate of all its slices.",),
        stacks_lite_body,
        tall=48,
        first=-4,
        legend=(WRITTEN, KEPT, READ, NOTHING, ("blue", "front"), ("green", "back, one row")),
    ),
    Film(
        "daba",
        MAX_5,
        (
            "Six pointers cut the window into five lists, and every slide does a step of the flip:",
            "no step is long. The answer is the oldest of the front with the newest of the back.",
        ),
        daba_body,
        tall=64,
        first=0,
        legend=(
            WRITTEN,
            KEPT,
            READ,
            ("blue", "F to L: up to B"),
            ("violet", "L to R: up to R"),
            ("pink", "R to A: from R on"),
            ("teal", "A to B: up to B"),
            ("green", "B to E: from B on"),
        ),
        more=1,
    ),
    Film(
        "daba_lite",
        MAX_5,
        (
            "As DABA, with one aggregate of all of R to B (the flat box, while it is needed)",
            "and one of all of B to E.",
        ),
        daba_lite_body,
        tall=82,
        first=0,
        legend=(
            WRITTEN,
            KEPT,
            READ,
            ("slice", "slice without a row"),
            ("blue", "F to L: up to B"),
            ("violet", "L to R: up to R"),
            ("pink", "R to A"),
            ("teal", "A to B: up to B"),
            ("green", "B to E: one row"),
        ),
        more=1,
    ),
    Film(
        "van_herk",
        SUM_3_5,
        (
            "Each range has a boundary (the line). Behind it are sums that end there, before it one that",
            "starts there. When a window has passed its boundary, that moves to the newest slice.",
        ),
        van_herk_body,
        tall=92,
        first=-4,
        legend=(
            WRITTEN,
            KEPT,
            READ,
            NOTHING,
            ("blue", "up to the boundary"),
            ("green", "from the boundary on"),
        ),
        more=1,
    ),
    Film(
        "accumulators",
        SUM_3_5,
        (
            "An accumulator for each start (the slice below it), as the answers leave them: an answer,",
            "or else the next slice, lets the newest slice go into all starts before it.",
            "Rows are a line: at its end (step 6) what is kept moves back to the beginning.",
        ),
        accumulators_body,
        tall=54,
        first=0,
        legend=(WRITTEN, ("read", "the answers")),
        columns=10,
    ),
    Film(
        "sparse_table",
        MAX_3_5,
        (
            "For each slice the maximum of the last 1, 2 and 4. Two that overlap make up a window:",
            "two of 2 slices one of 3, two of 4 slices one of 5.",
        ),
        sparse_body,
        tall=98,
        first=0,
        legend=(WRITTEN, KEPT, READ),
        more=1,
    ),
    Film(
        "prefix_difference",
        EXACT_3_5,
        ("Sums of all slices so far. An answer is the newest without the one before its window.",),
        prefix_body,
        tall=56,
        first=-5,
        legend=(WRITTEN, KEPT, READ, NOTHING),
    ),
)


def drawings() -> dict[str, str]:
    """By kernel, its drawing."""
    drawn = {film.name: draw_film(film) for film in FILMS}
    drawn |= {"flatfat": draw_flatfat(), "finger_tree": draw_finger_tree()}
    return {name: drawn[name] for name in KERNELS}
