UPDATE rows SET distance = 'far';
