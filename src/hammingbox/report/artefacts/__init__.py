"""Tables, figures and exports for papers and other programs."""
