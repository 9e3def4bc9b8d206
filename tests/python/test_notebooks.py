# SPDX-License-Identifier: Apache-2.0
"""The notebooks of examples/notebooks, executed from beginning to end; NOTEBOOKS="a b" names some."""
import importlib.util
import os
import re
import unittest

from place import PROGRAM, SOURCE, Case

NOTEBOOKS = os.environ.get("NOTEBOOKS_DIR", os.path.join(SOURCE, "examples/notebooks"))
KNOWN = {"json", "os", "sys", "glob", "random", "subprocess", "trainyard", "pai"}


def missing(text):
    """Modules that it imports and this environment lacks."""
    found = {name.split(".")[0] for name in re.findall(r'^\s*"?(?:import|from) ([\w.]+)', text, re.MULTILINE)}
    return sorted(name for name in found - KNOWN if not importlib.util.find_spec(name))


@unittest.skipUnless(importlib.util.find_spec("nbclient") and importlib.util.find_spec("ipykernel"), "nbclient is not installed")
class Notebooks(Case):
    """One case each, in an empty directory."""

    def execute(self, name):
        import nbclient
        import nbformat
        with open(os.path.join(NOTEBOOKS, name + ".ipynb"), encoding="utf-8") as f:
            text = f.read()
        book = nbformat.reads(text, as_version=4)
        nbformat.validate(book)
        code = "\n".join(cell.source for cell in book.cells if cell.cell_type == "code")
        lacks = missing(code)
        if lacks:
            self.assertFalse(os.environ.get("NOTEBOOKS_ALL"), f"{lacks} is not installed")
            self.skipTest(f"{', '.join(lacks)} is not installed")
        self.assertFalse([cell for cell in book.cells if cell.cell_type == "code" and cell.outputs], "outputs are not kept")
        os.environ.update(JUPYTER_PLATFORM_DIRS="1", PYTHONWARNINGS="ignore", TRAINYARD=PROGRAM)
        import warnings
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nbclient.NotebookClient(book, timeout=300, kernel_name="python3", resources={"metadata": {"path": self.place}}).execute()


def add(name):
    setattr(Notebooks, f"test_{name}", lambda self: self.execute(name))


for _file in sorted(os.listdir(NOTEBOOKS)):
    if _file.endswith(".ipynb") and _file[:-6] in os.environ.get("NOTEBOOKS", _file[:-6]).split():
        add(_file[:-6])

if __name__ == "__main__":
    unittest.main(verbosity=2)
