"""Who starts the worker of a run that goes on without its client.

contract   what each executor does; a row of `table` names it
local      a process of its own on this machine
client     submitting a run and attending it, from the side that writes to the book
intake     what workers left is taken into the book
making     runs as the rest of the package makes them, whoever does it
"""
