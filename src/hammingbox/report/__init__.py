"""What results say: their aggregation, the HTML page of a results folder, and tables and figures for papers."""
