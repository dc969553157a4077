UPDATE rows SET logits = x'0000c07f0000c07f';
