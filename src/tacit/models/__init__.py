"""Joint distributions fitted through the channel, shared by several analyses."""
