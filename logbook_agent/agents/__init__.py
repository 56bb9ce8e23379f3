"""What agents need beyond the commands: an MCP server, what to do next, decisions on code, citations."""
