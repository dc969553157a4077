"""What an attacker may do beyond S(x): prices, directions, relations between columns, derived columns and gains."""
