"""Files of benchmark tools as rows of a run: `--read FORMAT[:FILE]`."""
