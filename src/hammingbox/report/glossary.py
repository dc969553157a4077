"""Attacks in plain words, for readers who know their data and not the literature."""

GLOSSARY: dict[str, str] = {
    "auto": "runs several searches one after the other on the rows that still stand; the one to trust first",
    "pcaa": "learns, from the model's gradients, how likely each change is to help, and tries the likeliest ones",
    "pcaa_paper": "the same as published, without the later improvements",
    "sa": "ranks columns by how much one change hurts the model, then tries all combinations of the first few",
    "ga": "ranks columns by how much one change hurts the model, then adds the best change again and again",
    "gsa": "as sa, but ranks columns by the model's gradients, which is cheaper and less exact",
    "gga": "as ga, but ranks columns by the model's gradients, which is cheaper and less exact",
    "gsa_released": "gsa with the ranking of the authors' released code",
    "gga_released": "gga with the ranking of the authors' released code",
    "hotflip": "follows the gradient: makes the single change that looks best, then the next one",
    "hotflip_beam": "hotflip that keeps the eight best rows at each step in place of one",
    "swap": "makes the best change, then exchanges changes for better ones as long as that helps",
    "guided": "tries changes in the order in which gradients rank them",
    "greedy": "asks the model about every single change, keeps the best, and goes on from there; needs no gradient",
    "beam": "greedy that keeps the four best rows at each step in place of one",
    "best_first": "makes the change that helps most for its price, then the next one; never takes one back",
    "local": "greedy that also takes changes back where another one is better",
    "evolution": "breeds rows: keeps the best, combines them and changes them at random; needs no gradient",
    "sparse_rs": "random search that replaces fewer and fewer changes as it goes on; needs no gradient",
    "pcaa_blackbox": "pcaa without gradients: learns from the model's answers alone",
    "genetic": "breeds rows: combines and changes the best ones; needs no gradient",
    "genetic_public": "genetic with the population and generations of a public implementation",
    "random": "changes columns at random, as a check: every other attack should beat it",
    "exhaustive": "tries every allowed change within the budget, so what it does not break is proven",
    "oracle": "tries every allowed change until one breaks the row; what remains is proven unbreakable",
}


def explained(name: str) -> str:
    """An attack in one sentence; "" for one that is not of this package."""
    return GLOSSARY.get(name, "")
