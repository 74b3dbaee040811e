"""The survey service, collecting side: disguised records come in over HTTP and are kept.

Nothing here can undo a disguise: this package may not import what reconstructs.
"""
