"""What an attacker may do: S(x) as slots, goals, and the threat model."""
