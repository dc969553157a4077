UPDATE documents SET json = '{"kind": "mask", "immutable": [[1]], "forbidden": 5, "kept": [2]}' WHERE digest IN (SELECT space_sha256 FROM runs);
