import sys

from logbook_agent.cli import main

sys.exit(main())
