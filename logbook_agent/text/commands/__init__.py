"""Command lines as words: quoting, flags, launchers, titles. Pure; nothing here starts a process."""
