UPDATE documents SET json = '{"hammingbox": "\ud800"}' WHERE json LIKE '%torch%';
