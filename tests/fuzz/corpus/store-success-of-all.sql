UPDATE rows SET success = 1, attacked = 0;
