"""Eight threads take the same table over as Arrow."""

from __future__ import annotations

import pyarrow
import pytest

import cpuledger
from test_threads import TABLES, together


@pytest.mark.parametrize("name", TABLES)
def test_all_have_the_rows_of_one_table(recording, name):
    known = [one for one in cpuledger.read(recording) if getattr(one, name) is not None]
    alone, shared = cpuledger.table(known, name), cpuledger.table(known, name)
    expected = alone.to_dicts()
    assert expected or name == "blocked"
    tables = together(lambda _: pyarrow.table(shared))
    for table in tables:
        table.validate(full=True)
        assert table.to_pylist() == expected
    # It was built once: they share the memory of its batches.
    addresses = {
        tuple(buffer.address for buffer in table["pid"].chunk(0).buffers() if buffer is not None)
        for table in tables
        if table.num_rows > 0
    }
    assert len(addresses) <= 1
