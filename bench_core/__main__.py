"""`python -m bench_core` is the same command as `bench-core`."""

from bench_core.cli import main

main()
