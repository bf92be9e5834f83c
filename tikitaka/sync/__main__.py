"""`python -m tikitaka.sync --server URL --agent ID --folder DIR [--once]`, the agent's token in TIKITAKA_TOKEN."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from urllib.parse import urlsplit
from uuid import UUID

from tikitaka.authz.tokens import read_token
from tikitaka.sync.keeper import BAD_ARGUMENTS, DONE, Keeper, keep, say
from tikitaka.sync.server import Server

_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when it was done or ended, 1 when it was refused, 2 when it was called wrongly."""
    asked = _parser().parse_args(arguments)
    token = os.environ.get("TIKITAKA_TOKEN", "").strip()
    folder = Path(os.path.abspath(asked.folder))  # noqa: PTH100 a link in place of the folder is to be seen as one
    problem = _problem(asked.server, token, folder, plain=asked.plain_http)
    if problem:
        say(problem)
        return BAD_ARGUMENTS
    signal.signal(signal.SIGTERM, _end)
    signal.signal(signal.SIGINT, _end)
    return keep(Keeper(Server(asked.server, asked.agent, token), folder, asked.agent), once=asked.once)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tikitaka.sync", description=__doc__)
    parser.add_argument("--server", required=True, help="https://… of the server")
    parser.add_argument("--agent", required=True, type=UUID, help="the agent's id")
    parser.add_argument("--folder", required=True, help="the agent's folder on this machine; it must exist")
    parser.add_argument("--once", action="store_true", help="bring the folder to the present state and end")
    parser.add_argument("--plain-http", action="store_true", help="send the token unencrypted to another machine")
    return parser


def _problem(server: str, token: str, folder: Path, *, plain: bool) -> str:
    """What is wrong with the call; nothing when it can begin."""
    try:
        parts = urlsplit(server)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        return "--server is no address"
    if parts.scheme not in ("http", "https") or not host or parts.username or parts.query or parts.fragment:
        return "--server must be an address like https://tikitaka.example"
    if parts.scheme == "http" and host not in _LOOPBACK and not plain:
        return "--server must be https, or the token can be read on its way; --plain-http allows it"
    if read_token(token) is None:
        return "TIKITAKA_TOKEN must hold the agent's token"
    if folder.is_symlink() or not folder.is_dir():
        return "--folder is no folder"
    return ""


def _end(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001 the signature of a handler
    sys.exit(DONE)


if __name__ == "__main__":
    sys.exit(main())
