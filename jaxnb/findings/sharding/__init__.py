"""Shardings that cost more than others would, each tried."""
