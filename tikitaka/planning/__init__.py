"""From a prompt to a validated graph: what is asked, what is accepted, in which order it runs, what stands in for it."""
