UPDATE rows SET label = 99;
