"""Generators with known truth: each returns events and what a right answer has to find in them."""
