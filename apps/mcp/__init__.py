"""The MCP door for agents: tools that adapt services, one small function each."""
