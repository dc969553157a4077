UPDATE rows SET adversarial = x'ffffff';
