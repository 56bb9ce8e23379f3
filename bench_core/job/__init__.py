"""One run by several processes, each with a part of the devices: who starts them, watches them and reports for all."""
