"""Keeps a folder on an agent's own machine equal to the governed files that a server holds for it. Without Django."""
