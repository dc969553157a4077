"""Text as categories: tokens, vocabularies, grammar and synonyms."""
