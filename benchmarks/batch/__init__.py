"""Whole queries, in one process and on Spark."""
