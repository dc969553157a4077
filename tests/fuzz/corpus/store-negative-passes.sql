UPDATE rows SET forward = -5;
