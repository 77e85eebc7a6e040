"""Model adapters: ask a language model."""
