UPDATE runs SET name = char(27) || '[2J';
