"""Compiled and threaded code of our own, kept where it measurably beats a library."""
