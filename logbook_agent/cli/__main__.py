from logbook_agent.cli import entry

entry()
