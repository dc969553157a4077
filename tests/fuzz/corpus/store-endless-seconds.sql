UPDATE sessions SET seconds = 9e999;
