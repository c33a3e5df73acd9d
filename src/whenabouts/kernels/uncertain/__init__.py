"""Matching over uncertain time: candidate chains, forbidden regions, confidences."""
