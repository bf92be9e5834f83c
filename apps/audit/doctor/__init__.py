"""What is stuck, why, and what to do about it, in words."""
