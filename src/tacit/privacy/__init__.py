"""How private the answers of a design are."""
