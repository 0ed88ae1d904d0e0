"""Where DeepSpeed's own node launcher is."""
