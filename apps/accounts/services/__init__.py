"""What can be done to organizations and memberships."""
