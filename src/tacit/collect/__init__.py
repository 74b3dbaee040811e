"""The survey service: it collects reported records and loses none.

This package cannot undo a disguise: it may not import what reconstructs.
"""
