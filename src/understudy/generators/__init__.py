"""One file per system. Generators ask and learn from answers; they never see a row."""
