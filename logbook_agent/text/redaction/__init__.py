"""Secrets out of text, before it reaches a disk, a view or an issue. Pure: no file, no environment.

names         which names hold secrets, which values under one are no secret, and the forms in which programs print them
known_values  the values of known secrets, which is all that a worker hides
shapes        what secrets look like: one table of prefixes, one of patterns
finders       places of keys, patterns, addresses and private keys
redactor      texts and argument vectors; values behind a name
plain         data of dicts and lists; entries, headers and runs
stream        a byte stream of any size, in bounded memory
"""
