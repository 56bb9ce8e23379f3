"""Facts about where a run ran: code, host, devices, software, environment."""
