"""The same in a script without `await`; it works in a notebook, too."""

from __future__ import annotations

import pathlib
import sys

from lembas_core import ModelClient
from lembas_core.sync import Lembas


def main(paths: list[str], where: str | None = None, model: str | ModelClient | None = None) -> None:
    with Lembas.open(where) as lembas:  # the user's own data when it is told nothing
        chat = lembas.chat(model=model)  # and the default model
        for path in paths:
            with pathlib.Path(path).open(encoding="utf-8") as file:
                print(path, chat.say(f"Summarise in one line:\n\n{file.read()}").text, sep="\t")

        with chat.reply("Now rank them.") as reply:
            for event in reply:
                if event.kind == "text":
                    print(event.added, end="", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
