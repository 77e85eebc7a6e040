"""MCP server, proxy and page."""
