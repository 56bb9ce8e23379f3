"""What touches a process or the machine: launching a command, watching it, reading its results, its provenance."""
