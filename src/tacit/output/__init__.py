"""What prints: tables, figures, numbers as text, conservative rounding, JSON documents."""
