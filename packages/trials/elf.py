"""What the headers of a program say: whether the system has to load something before it can run."""

import struct

PT_INTERP = 3
# Of a 64-bit file: the place, size and number of its program headers.
HEADER = struct.Struct("<32xQ14xHH")
# A program header: its kind, and the place and size of what it describes.
SEGMENT = struct.Struct("<I4xQ16xQ")


def interpreter(data):
    """The loader that a program names, or None if it is static."""
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError("this is no 64-bit program for a little-endian machine")
    start, size, count = HEADER.unpack_from(data)
    for number in range(count):
        kind, place, length = SEGMENT.unpack_from(data, start + number * size)
        if kind == PT_INTERP:
            return data[place : place + length].rstrip(b"\0").decode()
    return None
