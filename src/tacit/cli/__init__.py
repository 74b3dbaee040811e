"""The command `tacit`: parse, call the core, render."""

from tacit.cli.main import command_line, main

__all__ = ["command_line", "main"]
