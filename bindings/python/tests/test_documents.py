"""What docs/python.md and the notebook say runs as it stands there."""

from __future__ import annotations

import os
import pathlib
import re

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = pathlib.Path(__file__).parent.parent
DOCUMENT = ROOT.parent.parent / "docs/python.md"

BLOCKS = re.findall(r"^```python\n(.*?)^```$", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_a_block_of_the_document(number, recording, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    # Three intervals are enough of what goes on without end, and the recording is that of the test.
    code = BLOCKS[number].replace("/var/log/cpuledger", recording)
    code = re.sub(r"cpuledger\.intervals\(([^)]*)\):", r"itertools.islice(cpuledger.intervals(\1), 3):", code)
    exec(compile("import itertools\n" + code, f"block {number} of {DOCUMENT}", "exec"), {"__name__": "block"})


def test_the_document_has_blocks():
    assert len(BLOCKS) >= 5


def test_the_notebook(recording):
    path = ROOT / "examples/first_interval.ipynb"
    notebook = nbformat.read(path, as_version=4)
    os.environ["CPULEDGER_RECORDING"] = recording
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert len(outputs) >= 4
    assert not any(output.output_type == "error" for output in outputs)
    # It is kept without outputs: those of one machine are nobody's business.
    kept = nbformat.read(path, as_version=4)
    assert all(not cell.get("outputs") for cell in kept.cells)
