"""Tests of what the trials rely on: `python3 -B -m unittest trials.tests` in packages/."""

import struct
import unittest

from . import elf

LOADER = b"/lib64/ld-linux-x86-64.so.2\0"


def program(*segments):
    """A program with these kinds of segments; each describes the name of the loader."""
    place = 64 + 56 * len(segments)
    header = b"\x7fELF\x02\x01".ljust(32, b"\0") + struct.pack("<Q8x4xHHH6x", 64, 64, 56, len(segments))
    entries = b"".join(struct.pack("<IIQQQQQQ", kind, 0, place, 0, 0, len(LOADER), 0, 0) for kind in segments)
    return header + entries + LOADER


class ElfTests(unittest.TestCase):
    def test_a_program_that_needs_a_loader_names_it(self):
        self.assertEqual(elf.interpreter(program(6, 3, 1)), "/lib64/ld-linux-x86-64.so.2")

    def test_a_static_program_has_none_although_its_text_names_one(self):
        self.assertIsNone(elf.interpreter(program(6, 1)))

    def test_a_script_is_no_program(self):
        with self.assertRaises(ValueError):
            elf.interpreter(b"#!/bin/sh\n")
