import json
import sys
import time
from pathlib import Path

import pytest

from ragctx import children
from ragctx.errors import RagctxError


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(children, "SCRIPTS", tmp_path)
    return tmp_path


def _write(folder: Path, body: str) -> None:
    (folder / "child.py").write_text(f"import json, sys\nrequest = json.load(open(sys.argv[1]))\n{body}\n")


def test_answer_is_what_the_child_wrote_and_not_what_it_printed(scripts: Path) -> None:
    _write(scripts, "print('{}'); json.dump({'twice': request * 2}, open(sys.argv[2], 'w'))")
    result = children.run_script("child.py", 21)
    assert (result.answer, result.status, result.timed_out) == ({"twice": 42}, 0, False)


def test_environment_is_tpu_less(scripts: Path) -> None:
    _write(scripts, "import os; json.dump(os.environ['JAX_PLATFORMS'], open(sys.argv[2], 'w'))")
    assert children.run_script("child.py", None).answer == "cpu"


def test_crash_leaves_no_answer_but_its_stderr(scripts: Path) -> None:
    _write(scripts, "raise RuntimeError('boom')")
    result = children.run_script("child.py", None)
    assert result.answer is None
    assert result.status == 1
    assert "RuntimeError: boom" in result.stderr


def test_time_out_ends_the_child_and_what_it_started(scripts: Path, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    _write(
        scripts,
        "import subprocess, time\n"
        "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({json.dumps(str(pid_file))}, 'w').write(str(p.pid)); time.sleep(600)",
    )
    result = children.run_script("child.py", None, timeout_s=3)
    assert result.timed_out
    pid = int(pid_file.read_text())
    for _ in range(100):
        stat = Path(f"/proc/{pid}/stat")
        if not stat.exists() or stat.read_text().split()[2] == "Z":
            return
        time.sleep(0.05)
    raise AssertionError("the grandchild outlived its session")


def test_missing_interpreter_is_one_line() -> None:
    with pytest.raises(RagctxError, match=r"no-such-python: cannot start the interpreter: No such file"):
        children.run_script("child.py", None, python="no-such-python")


def test_a_relative_interpreter_is_relative_to_the_caller(
    scripts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(scripts, "json.dump(sys.executable, open(sys.argv[2], 'w'))")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    monkeypatch.chdir(tmp_path)
    result = children.run_script("child.py", None, python="bin/python")
    assert result.answer == str(tmp_path / "bin" / "python")
