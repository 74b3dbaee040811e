"""The command `tacit`: parse, call the core, render."""

from tacit.cli.main import app, main

__all__ = ["app", "main"]
