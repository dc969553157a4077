"""Tables, and the self-contained HTML page of a results folder."""
