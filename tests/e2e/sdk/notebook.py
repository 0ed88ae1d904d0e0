"""Runs a notebook as a user does: `notebook.py FILE` in its folder, with this interpreter's kernel.

Prints what its cells showed, as a JSON object from the cell's id to text, last. A cell that fails
ends it with what a user would see. Run by build/sdk-venv's interpreter.
"""

import json
import pathlib
import sys

import nbformat
from nbclient import NotebookClient

CELL_SECONDS = 240


def shown(cell):
    """Streams and results, as text."""
    texts = []
    for output in cell.get("outputs", []):
        texts.append(output.get("text") or output.get("data", {}).get("text/plain", ""))
    return "".join(texts)


def main(path):
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    folder = str(pathlib.Path(path).parent)
    resources = {"metadata": {"path": folder}}
    NotebookClient(book, timeout=CELL_SECONDS, resources=resources).execute()
    return {cell["id"]: shown(cell) for cell in book.cells if cell["cell_type"] == "code"}


if __name__ == "__main__":
    print("\n" + json.dumps(main(sys.argv[1])))
