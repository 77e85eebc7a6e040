"""Finding what we know: tokenizer, BM25, the on-disk index, search."""
