UPDATE runs SET budget = 'many';
