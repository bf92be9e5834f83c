"""One function for each operation of the door; it describes the call and sends nothing."""
