"""lembas_web."""
