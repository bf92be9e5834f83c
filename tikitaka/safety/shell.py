"""Commands that a note must not hand to an agent, found by their parts and not by single words."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tikitaka.safety.findings import Hit
from tikitaka.safety.hosts import contains_outside, contains_suspicious, hosts, is_own
from tikitaka.safety.patterns import Pattern
from tikitaka.safety.shell_shapes import SHAPES
from tikitaka.safety.wordlists import words

_SEGMENT = re.compile(r"\|\||&&|[|;\n`]|\$\(|<\(|\)")
_SHELLS = words(
    """
    sh bash zsh dash ksh fish ash csh tcsh python python2 python3 perl ruby node php pwsh powershell iex cmd lua
    deno bun osascript source . eval sudo xargs tclsh
    """
)
_LANGUAGES = words("python python2 python3 perl ruby node php lua deno bun osascript tclsh cmd")
_FETCHERS = words(
    """
    curl wget fetch http https aria2c lwp-request lynx iwr irm invoke-webrequest invoke-restmethod httpie xh
    certutil bitsadmin nc ncat netcat
    """
)
_DECODERS = words(
    """
    base64 base32 xxd openssl gunzip gzip zcat rev tr uudecode base58 gpg basenc
    """
)
_SENDERS = words(
    """
    curl wget nc ncat netcat socat telnet mail sendmail mutt ssh scp rsync http https aws gsutil rclone tftp ftp
    sftp nslookup dig ping s3cmd
    """
)
_KNOWN_INSTALLERS = words(
    """
    sh.rustup.rs static.rust-lang.org get.docker.com astral.sh deb.nodesource.com install.python-poetry.org
    get.k3s.io bun.sh get.pnpm.io starship.rs get.helm.sh sdk.cloud.google.com
    deno.land fnm.vercel.app get.sdkman.io brew.sh pyenv.run mise.run get.volta.sh just.systems
    """
)
_ROOTS = re.compile(
    r"(?:/|/\*|~|~/|~/\*|\$HOME|\$\{HOME\}|\"\$HOME\"|\$HOME/\*?|/(?:home|etc|usr|var|boot|root|"
    r"bin|lib|opt|srv|mnt|sys|dev|data|System|Users|Windows)(?:/\*?)?|\*|\.\*|\.|\./|\./\*|\.\.|"
    r"\.\./?\*?|[A-Za-z]:\\?\*?|"
    r"~?/?\.ssh/?|\.git/?|/var/(?:lib|log|www|backups?)(?:/[a-z-]{0,20}/?\*?)?|"
    r"--no-preserve-root|.{0,40}(?:backups?|workspaces?|/data)(?:/\*?)?)"
)
_SENSITIVE = re.compile(
    r"(?i)(?:\.env\b|id_rsa|id_ed25519|\.ssh\b|\.aws/|\.kube/|kubeconfig|\.netrc|\.npmrc|"
    r"\.pypirc|\.git-credentials|/etc/shadow|/etc/passwd|\.pgpass|\.gnupg|\.docker/config|"
    r"credentials|secrets?\b|"
    r"authorized_keys|private[_-]?key|\.pem\b|keychain|wallet|printenv|\benv\b|history|"
    r"\.bash_history|memory|notes|token|/proc/self/environ|AGENTS\.md|CLAUDE\.md|whoami|hostname|"
    r"passwd)"
)
_BARE_HOST = re.compile(r"[a-z0-9-]{1,60}(?:\.[a-z0-9-]{1,60}){1,4}/\S")
_PUSH = Pattern(r"\bgit\s+(?:push|remote\s+(?:add|set-url)|clone\s+--mirror)\b[^\n|;]*")
_SUBSTITUTED = Pattern(
    r"\b(?:curl|wget|nslookup|dig|ping|http)\b[^\n|;]*(?:\$\(|`)\s*(?:env|cat|printenv|whoami|id|"
    r"history|ls|hostname|base64|tar|find|grep|git|aws|kubectl)\b[^\n]*"
)


@dataclass(frozen=True, slots=True)
class _Command:
    name: str
    words: tuple[str, ...]
    piped: bool
    start: int
    end: int


def shell_shapes(text: str) -> Iterator[Hit]:
    """Every dangerous command of the text."""
    for rule, detail, pattern in SHAPES:
        match = pattern.search(text)
        if match and not (rule == "shell.encoded" and _is_trusted(tuple(match.group().split()))):
            yield Hit(rule, *match.span(), detail)
    commands = _commands(text)
    for command in commands:
        if command.name == "rm" and _deletes_root(command.words):
            yield Hit("shell.delete", command.start, command.end, "Deletes everything below a root.")
    yield from _pipelines(text, commands)
    yield from _uploads(text, commands)
    yield from _pushes(text)


def _commands(text: str) -> list[_Command]:
    found: list[_Command] = []
    at = 0
    piped = False
    for match in [*_SEGMENT.finditer(text), None]:
        end = match.start() if match else len(text)
        words = tuple(word.strip("\"'(){},.") or word for word in text[at:end].split())
        found.append(_Command(_name(words), words, piped, at, end))
        if match:
            at = match.end()
            piped = match.group() == "|"
    return found


def _name(words: tuple[str, ...]) -> str:
    """The program: the first word that may be one, after `sudo`, variables and words of prose."""
    for word in words:
        bare = word.rsplit("/", 1)[-1].lower()
        if bare in {"sudo", "exec", "nohup", "env", "time", "command", "doas"} and len(words) > 1:
            continue
        if bare in _KNOWN:
            return bare
    return words[0].lower() if words else ""


_KNOWN = (
    frozenset({"rm"})
    | _FETCHERS
    | _SENDERS
    | (_SHELLS - {"sudo", "."})
    | _DECODERS
    | {"cat", "tar", "printenv", "dd", "pg_dump", "mysqldump"}
)


def _deletes_root(words: tuple[str, ...]) -> bool:
    after = (
        words[[w.rsplit("/", 1)[-1] for w in words].index("rm") + 1 :]
        if "rm" in [w.rsplit("/", 1)[-1] for w in words]
        else ()
    )
    flags = "".join(word.lstrip("-") for word in after if word.startswith("-"))
    recursive = "r" in flags.lower()
    targets: list[str] = []
    for word in after:
        if word.startswith("-"):
            if word == "--no-preserve-root":
                targets.append(word)
            continue
        targets.append(word)
        if not re.match(r"[/~.$*\"'A-Za-z0-9_-]", word) or len(targets) > 6:
            break
    forced = "f" in flags or "recursive" in flags
    return recursive and forced and any(_ROOTS.fullmatch(target) for target in targets[:4])


def _pipelines(text: str, commands: list[_Command]) -> Iterator[Hit]:
    for before, after in itertools.pairwise(commands):
        runs = _runs_input(after)
        opened = text[max(0, after.start - 2) : after.start]
        if after.piped and runs and before.name in _FETCHERS and not _is_trusted(before.words):
            yield Hit("shell.remote_code", before.start, after.end, "Runs what it fetches from an address.")
        elif after.piped and runs and (before.name in _DECODERS or set(before.words) & {"base64", "xxd", "rev"}):
            yield Hit("shell.encoded", before.start, after.end, "Runs a command that it hides.")
        elif (
            opened in {"<(", "$("} and after.name in _FETCHERS and _runs(before.words) and not _is_trusted(after.words)
        ):
            yield Hit("shell.remote_code", before.start, after.end, "Runs what it fetches from an address.")
    joined = [command for command in commands if command.name in _FETCHERS and _fetches_outside(command.words)]
    for command in joined:
        saved = _saved_as(command.words)
        if saved and any(_executes(other, saved) for other in commands if other.start > command.start):
            yield Hit("shell.remote_code", command.start, len(text), "Runs what it fetches from an address.")


def _fetches_outside(words: tuple[str, ...]) -> bool:
    if contains_outside(" ".join(words)):
        return not _is_trusted(words)
    return any(_BARE_HOST.match(word) and not is_own(word.split("/", 1)[0]) for word in words[1:])


def _runs_input(command: _Command) -> bool:
    if not command.words:
        return False
    names = [word.rsplit("/", 1)[-1].lower() for word in command.words[:3]]
    first = names[1] if names[0] in {"sudo", "env", "nohup", "doas"} and len(names) > 1 else names[0]
    at = names.index(first)
    argument = command.words[at + 1] if len(command.words) > at + 1 else "-"
    if first in _LANGUAGES and argument != "-" and not argument.startswith("/dev/stdin"):
        return False
    return first in _SHELLS - {"sudo", "xargs"} or (first == "xargs" and any(n in _SHELLS for n in names[1:]))


def _runs(words: tuple[str, ...]) -> bool:
    return any(
        word.rsplit("/", 1)[-1].lower() in {"bash", "sh", "zsh", "source", ".", "eval", "python", "python3", "-c"}
        for word in words[-3:]
    )


def _is_trusted(words: tuple[str, ...]) -> bool:
    named = hosts(" ".join(words))
    return bool(named) and all(
        is_own(host) or (host in _KNOWN_INSTALLERS and "https://" in " ".join(words)) for host in named
    )


def _saved_as(words: tuple[str, ...]) -> str:
    for flag, name in itertools.pairwise(words):
        if flag in {"-o", "-O", ">", "--output", "-OutFile", "-outf"}:
            return name.rsplit("/", 1)[-1]
    for word in words:
        if "://" in word:
            return word.rstrip("/").rsplit("/", 1)[-1]
    return ""


def _executes(command: _Command, name: str) -> bool:
    last = [word.rsplit("/", 1)[-1] for word in command.words]
    return name in last and (
        bool(set(last) & {"sh", "bash", "chmod", "python", "python3", "source"})
        or any(word.startswith(("./", "/")) for word in command.words)
    )


def _uploads(text: str, commands: list[_Command]) -> Iterator[Hit]:
    for before, after in itertools.pairwise(commands):
        if after.piped and after.name in _SENDERS and _SENSITIVE.search(" ".join(before.words)) and _leaves(after):
            yield Hit("shell.upload", before.start, after.end, "Sends files or variables of the machine away.")
    for command in commands:
        line = " ".join(command.words)
        if command.name in {"curl", "wget", "http", "https", "xh"} and re.search(
            r"(?:^|\s)(?:-d|--data(?:-binary|-raw|-urlencode)?|-F|--form|-T|--upload-file|"
            r"--post-file(?:=\S+)?|--body-file)\b|@",
            line,
        ):
            if contains_outside(line) and (_SENSITIVE.search(line) or "$(" in text):
                yield Hit(
                    "shell.upload",
                    command.start,
                    command.end,
                    "Sends files or variables of the machine away.",
                )
        elif (
            command.name in {"scp", "rsync", "sftp", "nc", "ncat", "aws", "rclone"}
            and _SENSITIVE.search(line)
            and _leaves(command)
        ):
            yield Hit("shell.upload", command.start, command.end, "Sends files or variables of the machine away.")


def _pushes(text: str) -> Iterator[Hit]:
    for match in _PUSH.finditer(text):
        if contains_suspicious(match.group()):
            yield Hit("shell.upload", *match.span(), "Sends the repository to a strange address.")
    for match in _SUBSTITUTED.finditer(text):
        if contains_outside(match.group()):
            yield Hit("shell.upload", *match.span(), "Sends files or variables of the machine away.")


def _leaves(command: _Command) -> bool:
    line = " ".join(command.words)
    if contains_outside(line):
        return True
    for word in command.words[1:]:
        host = word.rsplit("@", 1)[-1].split(":", 1)[0]
        if (
            "." in host
            and not is_own(host)
            and not word.startswith(("-", "/", "~", "."))
            and re.fullmatch(r"[\w.-]{4,200}", host)
            and ("@" in word or ":" in word or command.name in {"nc", "ncat", "netcat", "telnet"})
        ):
            return True
    return False
