"""Django's PostgreSQL, except for how it finds out that a connection was cut."""
