"""What agents print, as spans: Codex, Claude Code and our own JSON lines."""
