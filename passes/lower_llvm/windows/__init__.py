"""Convolutions and pools."""
