"""The process runtime: a real program, its limits, its end, and what it is not given."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import uuid
from pathlib import Path

import pytest

from apps.providers.runtimes.process import ProcessRuntime, _drain, _Heard
from tikitaka.ports import Launch, RunEnd

TALK = "import json,sys\nprint(json.dumps({'type':'item.completed','item':{'type':'agent_message','text':%s}}))"


@pytest.fixture
def launch(tmp_path: Path):
    (tmp_path / "home").mkdir()

    def make(code: str, *, timeout: float = 10, limit: int = 1_000_000, **options) -> Launch:
        return Launch(
            attempt_id=uuid.uuid4(),
            workspace=tmp_path,
            home=tmp_path / "home",
            command=[sys.executable, "-c", code],
            prompt=options.pop("prompt", "the prompt"),
            thread_id=options.pop("thread_id", None),
            timeout_s=timeout,
            output_bytes_max=limit,
        )

    return make


def run(launch: Launch, *, lines: list[str] | None = None, cancelled=lambda: False) -> RunEnd:
    return ProcessRuntime().run(launch, on_line=(lines if lines is not None else []).append, cancelled=cancelled)


def test_the_prompt_comes_on_stdin_whole(launch) -> None:
    prompt = "line one\nline two 漢字 🎉\n" + "x" * 200_000
    end = run(launch(TALK % "sys.stdin.read()", prompt=prompt))
    assert end.answer == prompt


def test_it_runs_in_its_workspace_with_its_own_home(launch, tmp_path: Path) -> None:
    end = run(launch("import os\n" + TALK % "os.getcwd()+' '+os.environ['HOME']+' '+os.environ['CODEX_HOME']"))
    assert end.answer == f"{tmp_path} {tmp_path}/home {tmp_path}/home/.codex"


def test_nothing_of_the_workers_environment_reaches_it(launch, monkeypatch) -> None:
    for name in ("SECRET_KEY", "TIKITAKA_MODEL_KEY", "DATABASE_URL", "ANYTHING_ELSE"):
        monkeypatch.setenv(name, "confidential")
    end = run(launch("import os\n" + TALK % "repr(dict(os.environ))"))
    assert "confidential" not in end.answer
    given = "PATH LANG LC_ALL LC_CTYPE TZ HOME CODEX_HOME TIKITAKA_ATTEMPT PYTHONUNBUFFERED PWD OLDPWD _"
    assert set(eval(end.answer)) <= set(given.split())


def test_a_thread_is_handed_over_and_reported_back(launch) -> None:
    code = "import json,os\nprint(json.dumps({'type':'thread.started','thread_id':os.environ['TIKITAKA_THREAD']}))\n"
    end = run(launch(code + TALK % "'x'", thread_id="thread-7"))
    assert end.thread_id == "thread-7"


def test_lines_come_while_it_runs(launch) -> None:
    seen: list[str] = []

    def stop_after_first() -> bool:
        return bool(seen)

    end = run(launch("print('{}', flush=True)\nimport time\ntime.sleep(60)"), lines=seen, cancelled=stop_after_first)
    assert end.error == "cancelled"
    assert seen == ["{}"]


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("import time; time.sleep(60)", "timed_out"),
        ("import sys; sys.exit(3)", "exit_nonzero"),
        ("print('x' * 200000)", "output_overflow"),
        ("import sys; sys.stderr.write('x' * 200000)", "output_overflow"),
        ("pass", "no_answer"),
        (TALK % "'  '", "no_answer"),
        ('print(\'{"type":"turn.failed","error":{"message":"model down"}}\')', "bad_answer"),
        ("import os; os.kill(os.getpid(), 9)", "exit_nonzero"),
        ("import os; os.close(0); import time; time.sleep(0.2)", "no_answer"),
    ],
)
def test_every_other_end_has_its_name(launch, code: str, error: str) -> None:
    end = run(launch(code, timeout=1.5, limit=100_000))
    assert (end.error, end.answer) == (error, None)


def test_a_missing_program_and_a_missing_workspace(launch, tmp_path: Path) -> None:
    from dataclasses import replace

    assert run(replace(launch(""), command=["no-such-program"])).error == "missing_program"
    assert run(replace(launch(""), workspace=tmp_path / "gone")).error == "missing_program"
    assert run(replace(launch(""), command=[])).error == "missing_program"


@pytest.mark.parametrize("session", [False, True], ids=["in the group", "in a session of their own"])
@pytest.mark.parametrize("ending", ["import time; time.sleep(60)", "pass"], ids=["killed", "ended"])
def test_no_process_of_an_attempt_is_left(launch, session: bool, ending: str) -> None:
    mark = f"98.{os.getpid()}{uuid.uuid4().int % 100_000}"
    code = f"import subprocess\nsubprocess.Popen(['sleep', '{mark}'], start_new_session={session})\n{ending}"
    run(launch(code, timeout=1))
    found = subprocess.run(["pgrep", "-f", f"sleep {mark}"], capture_output=True, text=True, check=False)
    assert found.stdout == ""


def test_what_is_no_json_is_kept_as_an_error_line(launch) -> None:
    lines: list[str] = []
    end = run(launch("print('hello')\n" + TALK % "'ok'"), lines=lines)
    assert end.answer == "ok"
    assert lines[0] == "hello"


def test_bytes_that_are_no_text_do_not_break_it(launch) -> None:
    end = run(
        launch("import sys\nsys.stdout.buffer.write(b'\\xff\\xfe\\x00\\n')\nsys.stdout.flush()\n" + TALK % "'ok'")
    )
    assert end.answer == "ok"


@pytest.mark.parametrize("session", [False, True], ids=["in the group", "in a session of its own"])
def test_a_child_that_writes_on_after_the_end_does_not_hold_the_worker(launch, session: bool) -> None:
    """It would fill the memory of the worker, past every limit and deaf to a cancellation."""
    code = f"""
import fcntl, os, time
parent = os.getpid()
fcntl.fcntl(1, fcntl.F_SETPIPE_SZ, 1 << 20)  # so that the reader does not find it empty
if os.fork() == 0:
    {session} and os.setsid()
    data = b"x" * (1 << 20)
    while os.getppid() == parent: pass
    os.fork()
    while True: os.write(1, data)
time.sleep(0.2)
os._exit(0)
"""
    ends: list[RunEnd] = []
    runner = threading.Thread(target=lambda: ends.append(run(launch(code, timeout=5))), daemon=True)
    runner.start()
    runner.join(120)
    assert [end.error for end in ends] in (["output_overflow"], ["no_answer"])


def test_what_lies_in_the_pipe_is_read_up_to_the_output_limit(launch) -> None:
    """A source that never runs dry stands for a child that fled the group and writes faster than we read."""
    ended = subprocess.Popen(["true"], start_new_session=True)
    ended.wait(5)
    ends: list[str | None] = []
    with Path("/dev/zero").open("rb") as ended.stdout:
        arguments = (ended, launch("pass", limit=100_000), _Heard(), lambda line: None, b"")
        reader = threading.Thread(target=lambda: ends.append(_drain(*arguments)), daemon=True)
        reader.start()
        reader.join(120)
        assert ends == ["output_overflow"]
