"""The survey service: collects reported records, and loses none.

Nothing here can undo a disguise: this package may not import what reconstructs.
"""
