"""When a person must look, what an approval is bound to, and what an edit may do."""
