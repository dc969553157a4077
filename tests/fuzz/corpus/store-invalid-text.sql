UPDATE runs SET model = CAST(x'ff00' AS TEXT);
