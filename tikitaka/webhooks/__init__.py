"""What is told to other systems: which entries, in which words, signed how, tried how often, sent where."""
