"""Attacks: what a distinguisher looks at, one file each."""
