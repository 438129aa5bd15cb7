"""What the fields of a kind are, by the schema that an API server checks them with."""
