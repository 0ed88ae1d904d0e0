"""Tests of the Python packages that need nothing but a Python: every version runs them."""
