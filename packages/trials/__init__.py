"""Trials of what `packages/build` has made: each installs one kind of package into an empty place and makes a call."""
