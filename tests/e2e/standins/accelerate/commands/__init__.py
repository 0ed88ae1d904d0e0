"""Where accelerate's launcher is."""
