"""Decision trees that are grown, pruned and shown from reported records."""
