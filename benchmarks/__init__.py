"""What `make bench` measures: every figure a ratio, taken side by side in one run."""
