"""Draws the kernels at work and writes the tables of docs/kernels.md, both from the kernels themselves.

    .venv/bin/python docs/draw_kernels.py

Drawings go to docs/images/kernels. Run it after a change to a kernel, its card or an aggregate: a test says
when they no longer agree.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]  # neither the project nor what draws is installed

from kernel_drawings.files import write  # noqa: E402

if __name__ == "__main__":
    write()
