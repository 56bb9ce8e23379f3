"""`logbook mcp`: the logbook as tools and resources for a host of coding agents (Model Context Protocol, on stdio)."""
