"""What ragctx knows: documents, chunks, loading, the API reference of installed packages."""
