UPDATE runs SET budget = 9000000000000 WHERE id = (SELECT max(id) FROM runs);
