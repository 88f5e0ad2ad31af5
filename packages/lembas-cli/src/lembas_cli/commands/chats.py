"""`lembas chats`: what was said, kept."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from lembas_cli.clean import one_line, printable, short
from lembas_cli.session import Session, pass_session

if TYPE_CHECKING:
    from lembas_core.chats import ChatInfo
    from lembas_core.store.search import Hit
    from lembas_core.sync import Lembas

    from lembas_cli.out import Out

__all__ = ("chats",)

_PAGE = 100


@click.group()
def chats() -> None:
    """List, show, search, export, rename and delete chats."""


@chats.command("list")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many.")
@click.option("--archived", is_flag=True, help="Those in the archive.")
@click.option("--origin", type=click.Choice(["cli", "web", "mcp", "library"]), help="Only those begun there.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_session
def list_chats(session: Session, limit: int, archived: bool, origin: str | None, as_json: bool) -> None:
    """List chats, the latest first."""
    from lembas_cli.tables import print_json, print_table
    from lembas_cli.wire import as_json as plain

    with session.lembas() as lembas:
        infos = _first(lembas, limit, archived=archived, origin=origin)
    if as_json:
        print_json(session.out, plain(infos))
        return
    print_table(session.out, [_row(info) for info in infos])
    if not infos:
        session.out.note('No chats yet. `lembas ask "…"` or `lembas chat` begins one.')


@chats.command("show")
@click.argument("chat_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: `lembas help schema` describes it.")
@click.option("--raw", is_flag=True, help="Print Markdown as it is, on a terminal too.")
@pass_session
def show_chat(session: Session, chat_id: str, as_json: bool, raw: bool) -> None:
    """Show a chat; the last six characters of its id will do."""
    with session.lembas() as lembas:
        text = _exported(lembas, chat_id, "json" if as_json else "markdown")
    if session.out.draws and not raw and not as_json:
        from lembas_cli.live import LiveMarkdown

        page = LiveMarkdown(color=session.out.colors(sys.stdout))
        page.add(text)
        page.close()
    else:
        session.out.answer(text.rstrip("\n") + "\n")


@chats.command("search")
@click.argument("words", nargs=-1, required=True, metavar="QUERY...")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_session
def search_chats(session: Session, words: tuple[str, ...], limit: int, as_json: bool) -> None:
    """Search titles and messages, the best first."""
    from lembas_cli.tables import print_json
    from lembas_cli.wire import as_json as plain

    with session.lembas() as lembas:
        hits = lembas.chats.search(" ".join(words), limit=limit).items
    if as_json:
        print_json(session.out, [plain(hit) | {"snippet": _marked(hit.snippet, "", "")} for hit in hits])
        return
    for hit in _once(hits):
        _print_hit(session.out, hit)
    if not hits:
        session.out.note("Nothing found.")


@chats.command("export")
@click.argument("chat_ids", nargs=-1, metavar="ID...")
@click.option("--all", "everything", is_flag=True, help="Every chat.")
@click.option(
    "--format", "form", type=click.Choice(["markdown", "json"]), default="markdown", help="As what."
)
@click.option("--to", "folder", metavar="DIR", help="Write a file for each into this folder.")
@pass_session
def export_chats(
    session: Session,
    chat_ids: tuple[str, ...],
    everything: bool,
    form: Literal["markdown", "json"],
    folder: str | None,
) -> None:
    """Print chats as Markdown or JSON (a line each), or write them to a folder."""
    if everything == bool(chat_ids):
        raise click.UsageError("Give the ids of chats, or --all.")
    with session.lembas() as lembas:
        infos = _all(lembas) if everything else [lembas.chats.get(chat_id) for chat_id in chat_ids]
        for info in infos:
            text = lembas.chats.export(info.id, form)
            if folder is not None:
                session.out.line(str(_write(Path(folder), info, text, form)))
            else:
                _print_one(session.out, text, form)


@chats.command("rename")
@click.argument("chat_id", metavar="ID")
@click.argument("title")
@pass_session
def rename_chat(session: Session, chat_id: str, title: str) -> None:
    """Give a chat another title."""
    with session.lembas() as lembas:
        lembas.chats.rename(lembas.chats.get(chat_id).id, title)


@chats.command("delete")
@click.argument("chat_ids", nargs=-1, metavar="ID...")
@click.option("--older-than", metavar="AGE", help="Every chat without activity for this long: 30d, 12h, 8w.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@pass_session
def delete_chats(session: Session, chat_ids: tuple[str, ...], older_than: str | None, yes: bool) -> None:
    """Delete chats."""
    if bool(older_than) == bool(chat_ids):
        raise click.UsageError("Give the ids of chats, or --older-than.")
    before = datetime.now(UTC) - _age(older_than) if older_than else None
    with session.lembas() as lembas:
        infos = _older(lembas, before) if before else [lembas.chats.get(chat_id) for chat_id in chat_ids]
        if infos and not yes:
            _confirm(session.out, infos)
        lembas.chats.delete([info.id for info in infos])
    session.out.note(f"Deleted {len(infos)} chat{'' if len(infos) == 1 else 's'}.")


def _first(
    lembas: Lembas, limit: int, *, archived: bool = False, origin: str | None = None
) -> list[ChatInfo]:
    """The first `limit` chats, page by page."""
    found: list[ChatInfo] = []
    cursor: str | None = None
    while len(found) < limit:
        page = lembas.chats.list(
            limit=min(_PAGE, limit - len(found)), cursor=cursor, archived=archived, origin=origin
        )
        found += page.items
        cursor = page.cursor
        if cursor is None:
            break
    return found


def _all(lembas: Lembas) -> list[ChatInfo]:
    return [*_first(lembas, sys.maxsize), *_first(lembas, sys.maxsize, archived=True)]


def _older(lembas: Lembas, before: datetime) -> list[ChatInfo]:
    return [info for info in _all(lembas) if info.updated_at < before and not info.pinned]


def _age(text: str) -> timedelta:
    match = re.fullmatch(r"(\d+)([hdw])", text.strip())
    if match is None:
        raise click.BadParameter("write a number and h, d or w, such as 30d", param_hint="'--older-than'")
    return timedelta(hours=int(match[1]) * {"h": 1, "d": 24, "w": 168}[match[2]])


def _confirm(out: Out, infos: list[ChatInfo]) -> None:
    from lembas_core.errors import Invalid

    if not out.asks:
        raise Invalid("Nobody can be asked whether to delete: say --yes.")
    for info in infos[:10]:
        sys.stderr.write(f"  {short(info.id)}  {one_line(info.title)}\n")
    if len(infos) > 10:
        sys.stderr.write(f"  … and {len(infos) - 10} more\n")
    click.confirm(f"Delete {len(infos)}?", abort=True, err=True)


def _exported(lembas: Lembas, chat_id: str, form: Literal["markdown", "json"]) -> str:
    return lembas.chats.export(lembas.chats.get(chat_id).id, form)


def _print_one(out: Out, text: str, form: str) -> None:
    """One of several: JSON as a line, Markdown as it is."""
    if form == "json":
        text = json.dumps(json.loads(text), ensure_ascii=False)
    out.answer(text.rstrip("\n") + "\n")


def _write(folder: Path, info: ChatInfo, text: str, form: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^\w-]+", "-", info.title).strip("-")[:60] or "chat"
    path = folder / f"{short(info.id)}-{name}.{'md' if form == 'markdown' else 'json'}"
    path.write_text(text, encoding="utf-8")
    return path


def _row(info: ChatInfo) -> tuple[str, ...]:
    from lembas_cli.tables import ago

    age = ago((datetime.now(UTC) - info.updated_at).total_seconds())
    marks = ("pinned " if info.pinned else "") + ("unread " if info.unread else "")
    return (short(info.id), age, one_line(info.model.rpartition("/")[2], 20), f"{marks}{info.title}")


def _once(hits: Sequence[Hit]) -> list[Hit]:
    """The hits without titles that are only the beginning of a turn that is found as well."""
    named = {hit.chat_id for hit in hits if _begins_with_title(hit)}
    return [hit for hit in hits if hit.message_id is not None or hit.chat_id not in named]


def _begins_with_title(hit: Hit) -> bool:
    shown = _marked(hit.snippet, "", "")
    return hit.role == "user" and shown.startswith(printable(hit.title).removesuffix("…"))


def _print_hit(out: Out, hit: Hit) -> None:
    on, off = ("\x1b[1m", "\x1b[0m") if out.colors(sys.stdout) else ("", "")
    snippet = _marked(" ".join(hit.snippet.split()), on, off)
    title = out.styled(printable(hit.title), "strong", sys.stdout)
    repeated = _begins_with_title(hit)
    out.line(f"{short(hit.chat_id)}  {snippet if repeated else title}", clean=True)
    if hit.message_id is not None and not repeated:
        out.line(f"    {snippet}", clean=True)


def _marked(snippet: str, on: str, off: str) -> str:
    """The snippet with each match, which the search put between two controls, between `on` and `off`."""
    ends = (on.join(printable(part) for part in piece.split("\x02")) for piece in snippet.split("\x03"))
    return off.join(ends)
