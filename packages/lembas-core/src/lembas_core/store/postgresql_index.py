"""Full-text search in PostgreSQL: a column of words on messages and chats, with a GIN index.

Triggers fill it, in plain SQL, so whatever program changes a row, it is indexed at once. Their functions
fold and cut text as `lembas_core.store.words` does; the parser is left with nothing but words between
spaces, and the stemmer is Porter's without its stop words. The person a row belongs to is one more word.
"""

from __future__ import annotations

from typing import Final

from lembas_core.store.words import GAP, UNSPACED

__all__ = ("COLLATION", "MADE_ONCE", "REFILL", "made_anew")

_KINDS: Final = "asciiword, word, numword, int, uint, float, sfloat, version, numhword, asciihword, hword"

MADE_ONCE: Final = {
    "lembas_stem": "CREATE TEXT SEARCH DICTIONARY lembas_stem (TEMPLATE = snowball, LANGUAGE = english)",
    "lembas": "CREATE TEXT SEARCH CONFIGURATION lembas (PARSER = default)",
    "lembas mapping": f"ALTER TEXT SEARCH CONFIGURATION lembas ADD MAPPING FOR {_KINDS} WITH lembas_stem",
    "messages.words": "ALTER TABLE messages ADD COLUMN words tsvector",
    "chats.words": "ALTER TABLE chats ADD COLUMN words tsvector",
    "messages_words": "CREATE INDEX messages_words ON messages USING gin (words)",
    "chats_words": "CREATE INDEX chats_words ON chats USING gin (words)",
}
"""What is made when it is not there."""

# lower() of a database with the C locale knows ASCII only.
_LOWER: Final = """
CREATE OR REPLACE FUNCTION lembas_fold(said text) RETURNS text IMMUTABLE LANGUAGE sql AS $$
    SELECT lower(normalize(
        regexp_replace(normalize(said, NFKD), '[\\u0300-\\u036F]+', '', 'g'), NFC){collation})
$$"""

_SPREAD: Final = f"""
CREATE OR REPLACE FUNCTION lembas_spread(said text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$
DECLARE
    plain text := regexp_replace(lembas_fold(said), '[{GAP}]+', ' ', 'g');
    runs text;
BEGIN
    IF plain !~ '[{UNSPACED}]' THEN
        RETURN plain;
    END IF;
    -- Single characters, then the pairs that begin at odd characters of a run, then those at even ones.
    runs := regexp_replace(plain, '[^{UNSPACED}]+', ' ', 'g');
    RETURN regexp_replace(plain, '([{UNSPACED}])', ' \\1 ', 'g')
        || ' ' || regexp_replace(runs, '([{UNSPACED}])([{UNSPACED}])', '\\1\\2 ', 'g')
        || ' ' || regexp_replace(
            regexp_replace(' ' || runs, ' [{UNSPACED}]', ' ', 'g'),
            '([{UNSPACED}])([{UNSPACED}])', '\\1\\2 ', 'g');
END
$$"""

_WORDS: Final = """
CREATE OR REPLACE FUNCTION lembas_words(said text, person text) RETURNS tsvector STABLE LANGUAGE plpgsql AS $$
DECLARE
    owner tsvector := array_to_tsvector(ARRAY['person:' || coalesce(person, '')]);
    most integer;
BEGIN
    IF length(said) < 50000 THEN
        RETURN to_tsvector('lembas', lembas_spread(said)) || owner;
    END IF;
    -- An index row holds a mebibyte of words; of a text with more, only the beginning is found.
    FOREACH most IN ARRAY ARRAY[1000000, 250000, 50000] LOOP
        BEGIN
            RETURN to_tsvector('lembas', lembas_spread(left(said, most))) || owner;
        EXCEPTION WHEN program_limit_exceeded THEN
        END;
    END LOOP;
    RETURN owner;
END
$$"""

_MESSAGE: Final = """
CREATE OR REPLACE FUNCTION lembas_index_message() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.words := CASE WHEN NEW.status <> 'running' THEN
        lembas_words(NEW.text, (SELECT person_id FROM chats WHERE id = NEW.chat_id)) END;
    RETURN NEW;
END
$$"""

_CHAT: Final = """
CREATE OR REPLACE FUNCTION lembas_index_chat() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.words := lembas_words(NEW.title, NEW.person_id);
    RETURN NEW;
END
$$"""

_TRIGGERS: Final = (
    "CREATE OR REPLACE TRIGGER search_message BEFORE INSERT OR UPDATE OF text, status ON messages "
    "FOR EACH ROW EXECUTE FUNCTION lembas_index_message()",
    "CREATE OR REPLACE TRIGGER search_chat BEFORE INSERT OR UPDATE OF title ON chats "
    "FOR EACH ROW EXECUTE FUNCTION lembas_index_chat()",
)

COLLATION: Final = """
SELECT collname FROM pg_collation
WHERE collname IN ('pg_unicode_fast', 'pg_c_utf8', 'und-x-icu')
ORDER BY collname = 'und-x-icu', collname DESC LIMIT 1"""
"""The collation that knows every script's small letters: the first that this server has."""


def made_anew(collation: str | None) -> tuple[str, ...]:
    """Functions and triggers, replaced whenever `SEARCH` changes."""
    lower = _LOWER.format(collation=f' COLLATE "{collation}"' if collation else "")
    return (lower, _SPREAD, _WORDS, _MESSAGE, _CHAT, *_TRIGGERS)


REFILL: Final = ("UPDATE messages SET status = status", "UPDATE chats SET title = title")
"""Statements that index everything anew, through the triggers."""
