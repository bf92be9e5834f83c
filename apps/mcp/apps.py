from django.apps import AppConfig


class McpConfig(AppConfig):
    """The MCP door at /mcp/ and over stdio."""

    name = "apps.mcp"
    label = "mcp_door"
    verbose_name = "MCP"
