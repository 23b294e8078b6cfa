"""The service and the recording that the tests read: CPULEDGER_SOCKET and CPULEDGER_TEST_RECORDING name them."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import time
from typing import Callable, Iterator

import pytest

HERE = pathlib.Path(__file__).parent


@pytest.fixture(scope="session")
def socket() -> str:
    return os.environ["CPULEDGER_SOCKET"]


@pytest.fixture(scope="session")
def recording() -> str:
    return os.environ["CPULEDGER_TEST_RECORDING"]


@pytest.fixture
def burn() -> Iterator[Callable[[float], None]]:
    """Uses that much CPU time in a child that is waited for."""

    def run(seconds: float) -> None:
        code = f"import time\nwhile time.process_time() < {seconds}: pass"
        subprocess.run([sys.executable, "-c", code], check=True)

    yield run


@pytest.fixture
def children() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Sleeping children, which end with the test."""
    code = "import time\nprint(flush=True)\ntime.sleep(600)"
    started = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(3)]
    for child in started:
        assert child.stdout is not None
        child.stdout.readline()
    # A listing that is made behind this instant has them.
    time.sleep(0.05)
    yield started
    for child in started:
        child.kill()
        child.wait()
        if child.stdout is not None:
            child.stdout.close()
