"""Which method fits a table: `advice.py` judges from public facts, by what `experience.py` knows of our own results."""
