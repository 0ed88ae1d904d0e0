"""A stand-in for accelerate: its launcher, and nothing else."""
