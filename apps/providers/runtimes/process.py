"""The `process` runtime: any program that reads the prompt on stdin and prints our JSON lines."""

from __future__ import annotations

import os
import selectors
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from apps.providers.runtimes.reaper import Reaper, kill_group
from tikitaka.capture.codex_exec import parse_line
from tikitaka.capture.events import SpanDraft, ThreadStarted, TurnFailed, Usage
from tikitaka.ports import ErrorKind, Launch, RunEnd

_READ = 65_536
_LOOK_S = 0.1
_STDERR_TAIL = 4_096
# The first line of stdin opens the gate: the program starts only when the reaper knows of it, and a worker that dies
# before that leaves nothing behind. `read` takes single bytes from a pipe, so the prompt after it stays whole.
_GATE = 'IFS= read -r _ || exit 125; exec "$@"'
_reaper = Reaper()


@dataclass(slots=True)
class _Heard:
    """What the output said so far."""

    answer: str | None = None
    thread_id: str | None = None
    failure: str | None = None
    usage: Mapping[str, int] = field(default_factory=dict)
    stderr: bytes = b""
    size: int = 0


class ProcessRuntime:
    """Own process group, time limit, output limit. When run() returns, the group is gone, and so is who left it with
    the attempt's mark; a program that flees both needs the isolation that this runtime does not give.
    """

    def run(self, launch: Launch, *, on_line: Callable[[str], None], cancelled: Callable[[], bool]) -> RunEnd:
        environment = _environment(launch)
        program = _program(launch, environment)
        if program is None:
            return RunEnd(answer=None, error="missing_program", detail=f"{' '.join(launch.command[:1])}: not found")
        process = _spawn(launch, program, environment)
        heard = _Heard()
        stopped: ErrorKind | None = None
        try:
            _reaper.add(process.pid)
            writer = threading.Thread(target=_feed, args=(process, launch.prompt), daemon=True)
            writer.start()
            stopped = _listen(process, launch, heard, on_line, cancelled)
        finally:
            _end(process, launch)
        return _verdict(heard, stopped, process.returncode)


def _environment(launch: Launch) -> dict[str, str]:
    """Nothing of ours but the search path: the agent's HOME is its own, and our secrets are not in it."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "TZ") if name in os.environ}
    thread = {"TIKITAKA_THREAD": launch.thread_id} if launch.thread_id else {}
    return {
        **kept,
        **launch.environment,
        **thread,
        "HOME": str(launch.home),
        "CODEX_HOME": str(launch.home / ".codex"),
        "TIKITAKA_ATTEMPT": str(launch.attempt_id),
        "PYTHONUNBUFFERED": "1",
    }


def _program(launch: Launch, environment: Mapping[str, str]) -> str | None:
    if not launch.command or not launch.workspace.is_dir():
        return None
    return shutil.which(launch.command[0], path=environment.get("PATH"))


def _spawn(launch: Launch, program: str, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        ["/bin/sh", "-c", _GATE, "sh", program, *launch.command[1:]],
        cwd=launch.workspace.resolve(),
        env=dict(environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def _feed(process: subprocess.Popen[bytes], prompt: str) -> None:
    if process.stdin is None:
        return
    try:
        process.stdin.write(b"go\n" + prompt.encode("utf-8", "replace"))
        process.stdin.close()
    except OSError:
        return  # the program does not read its prompt; its end says more than this does


def _listen(
    process: subprocess.Popen[bytes],
    launch: Launch,
    heard: _Heard,
    on_line: Callable[[str], None],
    cancelled: Callable[[], bool],
) -> ErrorKind | None:
    """Reads both streams until they end; returns why it stopped earlier, if it did."""
    deadline = time.monotonic() + launch.timeout_s
    pending = b""
    with selectors.DefaultSelector() as streams:
        for name, stream in (("out", process.stdout), ("err", process.stderr)):
            if stream is not None:
                streams.register(stream, selectors.EVENT_READ, name)
        while streams.get_map():
            if cancelled():
                return "cancelled"
            left = deadline - time.monotonic()
            if left <= 0:
                return "timed_out"
            for key, _ in streams.select(min(left, _LOOK_S)):
                chunk = os.read(key.fd, _READ)
                if not chunk:
                    streams.unregister(key.fileobj)
                    continue
                heard.size += len(chunk)
                if key.data == "err":
                    heard.stderr = (heard.stderr + chunk)[-_STDERR_TAIL:]
                else:
                    *lines, pending = (pending + chunk).split(b"\n")
                    _hear(lines, heard, on_line)
                if heard.size > launch.output_bytes_max:
                    return "output_overflow"
            if process.poll() is not None:
                return _drain(process, launch, heard, on_line, pending)
    _hear([pending], heard, on_line)
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return "timed_out"
    return None


def _drain(
    process: subprocess.Popen[bytes], launch: Launch, heard: _Heard, on_line: Callable[[str], None], pending: bytes
) -> ErrorKind | None:
    """What still lies in the pipe after the program has gone.

    Children that it left behind end first. One that fled the group may go on writing: the output limit still holds.
    """
    kill_group(process.pid)
    overflow = False
    if process.stdout is not None:
        os.set_blocking(process.stdout.fileno(), False)
        try:
            while not overflow and (chunk := os.read(process.stdout.fileno(), _READ)):
                pending += chunk
                heard.size += len(chunk)
                overflow = heard.size > launch.output_bytes_max
        except BlockingIOError:
            pass
    _hear(pending.split(b"\n"), heard, on_line)
    return "output_overflow" if overflow else None


def _hear(lines: list[bytes], heard: _Heard, on_line: Callable[[str], None]) -> None:
    for raw in lines:
        line = raw.decode("utf-8", "replace")
        for event in parse_line(line):
            if isinstance(event, ThreadStarted):
                heard.thread_id = event.thread_id
            elif isinstance(event, Usage):
                heard.usage = event.counts
            elif isinstance(event, TurnFailed):
                heard.failure = event.detail or "the program said that its turn failed"
            elif isinstance(event, SpanDraft) and event.kind == "agent_message" and event.status != "started":
                heard.answer = event.text
        if line.strip():
            on_line(line)


def _end(process: subprocess.Popen[bytes], launch: Launch) -> None:
    kill_group(process.pid)
    process.wait()
    _kill_strays(str(launch.attempt_id))
    _reaper.remove(process.pid)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _kill_strays(attempt: str) -> None:
    """Processes that left the group but carry the attempt's mark in their environment (where /proc shows it)."""
    mark = f"TIKITAKA_ATTEMPT={attempt}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (folder / "environ").read_bytes().split(b"\x00"):
                os.kill(int(folder.name), 9)
        except (OSError, ValueError):
            continue


def _verdict(heard: _Heard, stopped: ErrorKind | None, exit_code: int | None) -> RunEnd:
    detail = heard.failure or heard.stderr.decode("utf-8", "replace").strip()
    error: ErrorKind | None = stopped
    if error is None and exit_code in (126, 127):
        error = "missing_program"
    elif error is None and exit_code != 0:
        error = "exit_nonzero"
    elif error is None and heard.failure is not None:
        error = "bad_answer"
    elif error is None and not (heard.answer or "").strip():
        error = "no_answer"
    return RunEnd(
        answer=heard.answer if error is None else None,
        error=error,
        detail=detail if error else "",
        thread_id=heard.thread_id,
        exit_code=exit_code,
        usage=heard.usage,
    )
