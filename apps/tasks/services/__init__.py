"""What can be done to tasks, nodes and attempts. The order of the story is told in apps.conductor."""
