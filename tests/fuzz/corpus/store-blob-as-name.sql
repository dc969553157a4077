UPDATE runs SET name = x'ff';
