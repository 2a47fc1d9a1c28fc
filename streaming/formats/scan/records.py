"""Where the records of a delimited file end: a line break within quotes is part of its field."""

import numpy as np

from streaming.compiled import compiled

QUOTE, BREAK = np.uint8(34), np.uint8(10)


@compiled
def record_ends(data, delimiter, ends):
    """Write the place behind each record's line break, and return how many there are.

    As for Python's csv module a quote opens a field only where the field begins; a doubled one closes and
    opens it.
    """
    count = 0
    quoted = False
    begins = True
    closed = -1  # where the last quote closed
    for position in range(len(data)):
        byte = data[position]
        if quoted:
            if byte == QUOTE:
                quoted = False
                closed = position
        elif byte == QUOTE and (begins or closed == position - 1):
            quoted = True
        elif byte == BREAK:
            ends[count] = position + 1
            count += 1
        begins = byte in (delimiter, BREAK)
    return count
