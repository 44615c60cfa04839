"""Older versions of packages, to install before the new ones."""

import dataclasses
import pathlib

from make import facts, shared, wheel

from . import place

VERSION = "0.0.1"


def debian(package, home):
    """The same package with another version, packed quickly."""
    folder = home / "older"
    place.run(["dpkg-deb", "--raw-extract", package, folder])
    control = folder / "DEBIAN/control"
    lines = control.read_text(encoding="utf-8").splitlines(keepends=True)
    changed = [f"Version: {VERSION}\n" if line.startswith("Version: ") else line for line in lines]
    control.write_text("".join(changed), encoding="utf-8")
    out = home / f"older_{VERSION}.deb"
    place.run(["dpkg-deb", "-Zgzip", "-z1", "--root-owner-group", "--build", folder, out])
    return out


def python_wheel(target, home):
    """A wheel whose program says its version and nothing else."""
    known = facts.load()
    known = dataclasses.replace(known, values={**known.values, "version": VERSION})
    nothing = {field.name: b"" for field in dataclasses.fields(shared.Shared)}
    program = f"#!/bin/sh\necho proxy {VERSION}\n".encode()
    return pathlib.Path(wheel.write(known, shared.Shared(**nothing), target, program, home))
