"""From a prompt to a validated graph: what is asked, what is accepted, its order, and what stands in for it."""
