"""Telling other systems: the ledger is read from where an endpoint stands, and what is new is sent to it."""
