"""Attacks on our own generators: what an audit can show, and with how much confidence."""
