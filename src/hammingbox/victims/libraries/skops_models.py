"""scikit-learn models in ``.skops`` files, which hold no code: types that are not on a list are refused."""

from hammingbox.errors import FileError, missing_library
from hammingbox.files import damage_as_file_error, sha256, shown
from hammingbox.victims.libraries import estimator
from hammingbox.victims.libraries.facts import ModelFacts

TRUSTED = ("numpy.dtype",)
"""Trusted beside what skops itself trusts: every fitted ``ColumnTransformer`` holds one, and it is data."""


def read(content: bytes, source: object) -> ModelFacts:
    """A model file.

    Raises:
        FileError: it is damaged, or holds types that are not trusted.
        InputError: skops is not installed, or the model is no classifier.
    """
    try:
        from skops import io as skops_io
    except ImportError as error:
        raise missing_library("skops", "skops", f"to read {source}", error) from error
    with damage_as_file_error(source, "a whole skops file"):
        strange = sorted(set(skops_io.get_untrusted_types(data=content)) - set(TRUSTED))
        if strange:
            raise FileError(
                f"expected only types of scikit-learn and NumPy in {shown(source)}, got {', '.join(strange[:8])}. "
                "Loading them could run code. If you trust the file, load it in a module of yours and pass "
                "--model package.module:object."
            )
        model = skops_io.loads(content, trusted=list(TRUSTED))
    return estimator.facts_of(model, identity=sha256(content))
