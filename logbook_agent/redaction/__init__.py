"""Secrets out of text, before it reaches a disk, a view or an issue. Pure: no file, no environment.

names     which variables hold secrets, by their name
secrets   the values of such variables, and every form in which a program may print them
rules     secrets known by their shape: provider tokens, headers, flags, assignments, URLs, key blocks
gate      a cheap scan that tells which lines need the rules at all
redactor  text, argument vectors and mappings
stream    a byte stream of any size, in bounded memory
"""

from logbook_agent.redaction.names import is_secret_name
from logbook_agent.redaction.redactor import Redactor
from logbook_agent.redaction.secrets import Secret, secrets_in
from logbook_agent.redaction.stream import StreamRedactor

__all__ = ["Redactor", "Secret", "StreamRedactor", "is_secret_name", "secrets_in"]
