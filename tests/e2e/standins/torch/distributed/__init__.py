"""Where torch's launcher is."""
