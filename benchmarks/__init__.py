"""Benchmarks: named inputs, checked answers, results kept as text. Start with README.md."""
