UPDATE rows SET logits = x'00';
