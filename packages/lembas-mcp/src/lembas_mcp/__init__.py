"""lembas_mcp."""
