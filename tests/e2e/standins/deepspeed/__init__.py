"""A stand-in for DeepSpeed: its node launcher, and nothing else."""
