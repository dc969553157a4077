"""Words that are never changed, and rules for replacing a word without breaking the grammar of its sentence."""

from importlib.resources import files

FORMS = {
    "NN": "noun, singular",
    "NNS": "noun, plural",
    "VB": "verb, base form",
    "VBP": "verb, present tense",
    "VBZ": "verb, third person",
    "VBD": "verb, past tense",
    "VBN": "verb, past participle",
    "VBG": "verb, -ing form",
    "JJ": "adjective",
    "JJR": "adjective, comparative",
    "JJS": "adjective, superlative",
    "RB": "adverb",
    "RBR": "adverb, comparative",
    "RBS": "adverb, superlative",
}
"""Tags of words that may change. Names (NNP), numbers and function words are not among them."""


def _read_lists() -> list[frozenset[str]]:
    text = files("hammingbox.text").joinpath("files/never_changed.txt").read_text("utf-8")
    return [frozenset(part.split("\n", 1)[1].split()) for part in text.split("# ")[1:]]


STOP_WORDS, NEGATIONS = _read_lists()
"""Function words, which carry the grammar of a sentence; words that negate a sentence."""

_AN_BEFORE_CONSONANT = ("hour", "honest", "honor", "honour", "heir")
_A_BEFORE_VOWEL = ("uni", "use", "usu", "uti", "eu", "one", "once", "ubi", "ufo", "uk", "uro", "ura")
_BEFORE_VERBS = frozenset(("i", "you", "he", "she", "we", "they", "it", "who", "to", "not", "n't")) | frozenset(
    ("can", "could", "will", "would", "shall", "should", "may", "might", "must")
)


def takes_an(word: str) -> bool:
    """Whether the article before this word is "an"."""
    word = word.lower()
    if word.startswith(_AN_BEFORE_CONSONANT):
        return True
    return word[:1] in "aeiou" and (not word.startswith(_A_BEFORE_VOWEL) or word.startswith(("unin", "unim")))


def fits_article(candidate: str, previous: str) -> bool:
    """Whether a word agrees with the word before it, if that is "a" or "an"."""
    return previous.lower() not in ("a", "an") or takes_an(candidate) == (previous.lower() == "an")


def is_doubtful_noun(tag: str, previous: str) -> bool:
    """Whether the tag is probably wrong: the word after a pronoun, a modal, "to" or "not" is rarely a noun."""
    return tag in ("NN", "NNS") and previous.lower() in _BEFORE_VERBS
