"""Who starts the worker of a run that goes on without its client.

contract     what each executor does; a row of `table` names it
local        a process of its own on this machine
submission   runs are recorded and submitted
dispatch     they are submitted, followed and taken in, one or many at a time, from the side that writes to the book
intake       what workers left is taken into the book, as every command does it first
"""

from logbook_agent.model.run import LOCAL as LOCAL

# As LOCAL, this machine, it needs no settings: submissions to a known launcher as they were typed.
TYPED = "typed"
