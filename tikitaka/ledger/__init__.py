"""The append-only log: canonical bytes, entries, hash chain, sealed values, verification."""
