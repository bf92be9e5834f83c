"""The folders of a workspace. Governed files are not made here: only landing writes those."""

from __future__ import annotations

import subprocess
from pathlib import Path

from apps.teams.models import Team, Workspace
from apps.teams.selectors import code_folder, home_folder, workspace_folder


def make_folders(team: Team, workspace: Workspace) -> None:
    """Workspace, home and code link; calling it twice changes nothing.

    The workspace has its own git repository, so that no runtime looks for instructions above it, and `code` is the one
    link that the product itself makes.
    """
    folder, home, code = workspace_folder(workspace), home_folder(workspace), code_folder(team)
    for path in (code, folder, home):
        path.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    home.chmod(0o700)
    if not (folder / ".git").exists():
        subprocess.run(["git", "init", "-q", str(folder)], check=True, capture_output=True, timeout=30)
    link = folder / "code"
    if not link.is_symlink():
        link.symlink_to(_relative(code, folder), target_is_directory=True)


def _relative(target: Path, start: Path) -> Path:
    """From a workspace to the team's code: up to the team's folder and down again, so that the root can move."""
    team_folder = target.parent
    ups = len(start.relative_to(team_folder).parts)
    return Path(*[".."] * ups) / target.name
