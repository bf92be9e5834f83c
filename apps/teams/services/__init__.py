"""What can be done to teams and agents. What it means for landed notes is composed in apps.conductor."""
