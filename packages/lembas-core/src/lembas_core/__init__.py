"""lembas_core: conversations with language models, kept."""
