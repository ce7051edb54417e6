"""Reports: results as one HTML file that opens from disk and needs no network."""
