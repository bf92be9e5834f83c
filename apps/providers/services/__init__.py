"""Vectors of texts, cached."""
