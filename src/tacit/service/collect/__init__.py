"""The HTTP side of the service: it sends pages, and validates each record against its design."""
