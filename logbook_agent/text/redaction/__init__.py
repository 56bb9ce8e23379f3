"""Secrets out of text, before it reaches a disk, a view or an issue. Pure: no file, no environment.

names     which variables hold secrets, by their name
secrets   the values of such variables, every form in which a program may print them, and where these stand in a text
rules     secrets known by their shape: the rules of rules.toml, credentials in addresses, key blocks
named     secrets known by the name before them: flags, assignments, pairs
gate      a cheap scan that tells which lines need the rules at all
redactor  text, argument vectors and mappings
plain     data of dicts and lists; entries, headers and runs
stream    a byte stream of any size, in bounded memory
"""

from logbook_agent.text.redaction.names import is_secret_name
from logbook_agent.text.redaction.redactor import Redactor, by_shape
from logbook_agent.text.redaction.secrets import Secret, secrets_in
from logbook_agent.text.redaction.stream import StreamRedactor

__all__ = ["Redactor", "Secret", "StreamRedactor", "by_shape", "is_secret_name", "secrets_in"]
