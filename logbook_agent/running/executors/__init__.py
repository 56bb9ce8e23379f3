"""Who starts the worker of a run that goes on without its client.

contract   what each executor does; a row of `table` names it
local      a process of its own on this machine
sending    runs are recorded and submitted
making     they are submitted, followed and taken in, one or many at a time, from the side that writes to the book
intake     what workers left is taken into the book
"""
