"""Stations that move between gateways, and switches that a controller leads."""
