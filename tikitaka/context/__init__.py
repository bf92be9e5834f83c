"""What one attempt is given: the window of the team's log it has not seen, and the rendered prompt."""
