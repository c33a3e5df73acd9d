"""Time: order and ties, uncertain times, granularity, windows, watermarks."""
