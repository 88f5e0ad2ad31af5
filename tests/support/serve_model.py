"""The small model as the product serves it, with another chat template where a test wants one.

python serve_model.py [TEMPLATE]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from lembas_core.local.serve import Order, parameters, serve


def main() -> None:
    order = Order(**json.loads(sys.stdin.buffer.readline()))
    chosen = parameters(order)
    if len(sys.argv) > 1:
        chosen.chat_template = Path(sys.argv[1]).read_text(encoding="utf-8")
    serve(chosen)


if __name__ == "__main__":
    main()
