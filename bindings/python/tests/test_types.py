"""Type stubs: mypy takes them, and they say what the extension module has."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import cpuledger
from cpuledger import _cpuledger

ROOT = pathlib.Path(__file__).parent.parent
STUB = ROOT / "python/cpuledger/_cpuledger.pyi"
BEGIN = "# begin: generated from the columns of rows\n"
END = "# end: generated from the columns of rows\n"

#: What docs/json.md says is never null.
NEVER_NONE = {
    "ProcessRow": {"pid", "comm"},
    "TaskRow": {"pid", "tid", "comm"},
    "ExitedRow": {"pid", "tid", "comm", "cpu_ns", "runtime_ns", "lifetime_ns", "uid", "start_time_ns"},
    "BlockedRow": {"pid", "tid", "comm", "start_time_ns", "blocked_for_ns"},
    "ListedRow": {"pid", "tid"},
}

DOCUMENTED = {
    "ProcessRow": "A process in an interval: the keys of `processes` in docs/json.md.",
    "TaskRow": "A task in an interval: the keys of `tasks`.",
    "ExitedRow": "A task that died in an interval: the keys of `exited`.",
    "BlockedRow": "A task that was blocked in all of an interval: the keys of `blocked`.",
    "ListedRow": "A process or a task in a listing: every field, cumulative ones since its start.",
}


def generated() -> str:
    lines = []
    for name, columns in _cpuledger.columns_of_rows():
        assert getattr(_cpuledger, name).__doc__ == DOCUMENTED[name]
        lines += ["@final", f"class {name}(Row):", f'    """{DOCUMENTED[name]}"""', ""]
        for column, kind, sentence in columns:
            kind = kind if column in NEVER_NONE[name] else f"{kind} | None"
            text = f'        """{sentence}"""' if sentence else "        ..."
            lines += ["    @property", f"    def {column}(self) -> {kind}:", text]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n\n"


def test_the_stub_has_the_columns():
    text = STUB.read_text()
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    wanted = before + BEGIN + generated() + END + after
    if os.environ.get("CPULEDGER_WRITE_DOCS"):
        STUB.write_text(wanted)
    assert STUB.read_text() == wanted, "CPULEDGER_WRITE_DOCS=1 writes it"


def mypy(*arguments: str) -> str:
    command = [sys.executable, "-m", "mypy", "--strict", "--python-version", "3.10", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout + done.stderr if done.returncode else ""


def test_mypy_is_content_with_the_package():
    assert mypy("-p", "cpuledger") == ""


def test_mypy_knows_what_rows_have(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import cpuledger\n"
        "for interval in cpuledger.intervals(1.0):\n"
        "    total: int = sum(row.cpu_ns or 0 for row in interval.processes)\n"
        "    for row in interval.exited or ():\n"
        "        used: int = row.cpu_ns\n"
        "with cpuledger.measure() as m:\n"
        "    pass\n"
        "cpu_ns: int = m.cpu_ns + m.by_command['make'].cpu_ns\n"
        "rss: int = cpuledger.Process().memory_info().rss\n"
    )
    assert mypy(str(program)) == ""
    program.write_text("import cpuledger\nx: int = next(cpuledger.intervals()).processes[0].cpu_ns\n")
    assert "int | None" in mypy(str(program))
    program.write_text("import cpuledger\nnext(cpuledger.intervals()).processes[0].pids\n")
    assert 'has no attribute "pids"' in mypy(str(program))


def test_stubtest_finds_no_difference(tmp_path):
    allowed = tmp_path / "allowed"
    # Attributes of rows and of intervals are looked up by name; only mypy has types as objects.
    rows = "|".join(DOCUMENTED)
    members = "start_ns|end_ns|online_cpus|capacity_ns|attributed_ns|idle_ns|unattributed_ns|blocked_tasks"
    losses = "unidentified_exits|missed_switches|hidden_cpu_ns|missed_exits"
    allowed.write_text(f"cpuledger\\._cpuledger\\.__all__\ncpuledger\\._cpuledger\\.({rows})\\..*\ncpuledger\\._cpuledger\\.Interval\\.({members}|{losses})\n")
    command = [sys.executable, "-m", "mypy.stubtest", "cpuledger._cpuledger", "--ignore-disjoint-bases"]
    done = subprocess.run([*command, "--allowlist", str(allowed)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_everything_public_is_documented():
    for name in cpuledger.__all__:
        assert getattr(cpuledger, name).__doc__ or name == "__version__", name
    for name in dir(cpuledger.Process):
        if not name.startswith("_"):
            assert getattr(cpuledger.Process, name).__doc__, name
