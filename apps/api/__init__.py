"""The REST door for orchestrators: it adapts, and calls the same services as the console."""
