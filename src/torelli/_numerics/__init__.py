"""Compiled and threaded code that measurably beats a library."""
