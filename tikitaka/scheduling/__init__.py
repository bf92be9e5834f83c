"""Which node may start now, what a failure blocks, what is tried again, which locks exclude each other."""
