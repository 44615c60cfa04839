"""The packages that are linked into the binary, from `.ci/notices`, which knows them."""

import importlib.machinery
import importlib.util
import sys

from .facts import ROOT


def load():
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("notices", str(ROOT / ".ci/notices"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module
