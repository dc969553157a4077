UPDATE documents SET json = replace(hex(zeroblob(20000)), '0', '[');
