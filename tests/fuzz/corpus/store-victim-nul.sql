UPDATE runs SET victim = 'a' || char(0) || 'b';
