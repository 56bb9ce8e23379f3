"""Who gives out devices for a time: programs that are asked for a lease, how it stands, and to end it."""
