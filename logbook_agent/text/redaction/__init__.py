"""Secrets out of text, before it reaches a disk, a view or an issue. Pure: no file, no environment.

names         which variables hold secrets, by their name
secrets       the values of such variables, the forms in which programs print them, and where these stand in a text
shapes        what keys begin with, and patterns of other secrets: one table
rules         secrets known by their shape: those patterns, credentials in addresses, keys, key blocks
named_values  secrets known by the name before them: one table of forms
lines         which lines need the rules at all, and what one tells about the next: a name without its value, a key
redactor      text, argument vectors and mappings
plain         data of dicts and lists; entries, headers and runs
stream        a byte stream of any size, in bounded memory
"""
