"""Who starts the worker of a run that goes on without its client.

contract   what each executor does; a row of `table` names it
local      a process of its own on this machine
"""
