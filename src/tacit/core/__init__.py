"""What is published and drawn: attributes, schemas, channels, designs, and the disguise."""
