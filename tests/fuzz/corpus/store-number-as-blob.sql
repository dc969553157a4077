UPDATE rows SET clean = 5;
