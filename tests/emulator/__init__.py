"""A GitHub for tests: the emulator (`server`), a proxy in front of it that fails on demand (`proxy`), and fixtures."""
