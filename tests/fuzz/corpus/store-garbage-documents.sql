UPDATE documents SET json = 'garbage';
