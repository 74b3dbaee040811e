"""The door of the service: pages out, disguised records in, each checked against its design."""
