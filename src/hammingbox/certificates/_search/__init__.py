"""What several certificates share."""
