"""The methods that consume a prefix."""
