"""Shared networks: heads for mixed columns and small multi-layer perceptrons."""
