"""Secrets out of text, before it reaches a disk, a view or an issue. Pure: no file, no environment.

names     which names hold secrets, and which values under one are no secret
secrets   the values of secret-named variables, and the forms in which programs print them
shapes    what secrets look like: one table of prefixes, one of patterns
spans     places in a text, and what stands there instead
finders   places of known values, keys, patterns, addresses and private keys
named     places of values behind a name
redactor  texts and argument vectors
plain     data of dicts and lists; entries, headers and runs
stream    a byte stream of any size, in bounded memory
"""
