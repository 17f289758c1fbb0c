"""Every table and figure of the paper as a command."""
