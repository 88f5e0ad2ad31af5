"""The lembas command."""


def main() -> None:
    """Run the command line."""
