"""What becomes of closed threads of work: segments, flushes, notes, review, landings."""
