"""The rules of Tiki-Taka: pure Python, no Django, no I/O, no clock, no randomness."""
