"""One file per method: its options, what it announces, how it opens the conversation."""
