"""Views: thin, each over selectors."""
