"""Secrets out of text, before it reaches a disk, a view or an issue. Pure: no file, no environment.

names     which names hold secrets, and which values under one are no secret
secrets   the values of secret-named variables, and the forms in which programs print them
shapes    what secrets look like: one table of prefixes, one of patterns
finders   the five finders: places of secrets in one line
lines     lines one after another: a key or a value may go on in the next
redactor  texts and argument vectors
plain     data of dicts and lists; entries, headers and runs
stream    a byte stream of any size, in bounded memory
"""
