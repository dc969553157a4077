"""Text as categories: tokens that give the text back, a vocabulary, grammar and synonyms."""
