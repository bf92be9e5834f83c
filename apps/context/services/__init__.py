"""Compiling and freezing what an attempt is given."""
