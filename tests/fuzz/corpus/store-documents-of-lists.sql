UPDATE documents SET json = '[]';
