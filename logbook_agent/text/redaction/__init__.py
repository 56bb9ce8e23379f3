"""Secrets out of text, before it reaches a disk, a view or an issue. Pure: no file, no environment.

names     which names hold secrets, which values under one are no secret, and the forms in which programs print them
shapes    what secrets look like: one table of prefixes, one of patterns
finders   places of known values, keys, patterns, addresses and private keys, and what stands there instead
redactor  texts and argument vectors; values behind a name
plain     data of dicts and lists; entries, headers and runs
stream    a byte stream of any size, in bounded memory
"""
