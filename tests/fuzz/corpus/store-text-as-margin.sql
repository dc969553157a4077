UPDATE rows SET margin = 'wide';
