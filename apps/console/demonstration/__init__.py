"""The 09:41 story, told through the production services, so that it cannot drift from the product."""
