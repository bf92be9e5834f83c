"""What a governed file looks like: keys, managed blocks, whole files, budgets, drift."""
