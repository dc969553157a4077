"""scikit-learn models in ``.skops`` files, which hold no code: types that are not on a list are refused."""

import io
import zipfile

from hammingbox.errors import FileError, missing_library
from hammingbox.files import INFLATED_VARIABLE, damage_as_file_error, inflated_limit, sha256, shown
from hammingbox.victims.libraries import estimator
from hammingbox.victims.libraries.facts import ModelFacts
from hammingbox.victims.libraries.trial import check_opens

_MOST_INFLATED = 20
"""Times its size that a model may have after inflation, if it is above the usual limit: forests compress well."""

TRUSTED = (
    "numpy.dtype",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.feature_selection._univariate_selection.f_classif",
    "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
    "sklearn.gaussian_process.kernels.ConstantKernel",
    "sklearn.gaussian_process.kernels.Product",
    "sklearn.gaussian_process.kernels.RBF",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.neighbors._ball_tree.BallTree",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.tree._tree.Tree",
)
"""Trusted beside what skops itself trusts: what scikit-learn's own classifiers consist of. They hold data."""


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
    _check_size(content, source)
    with damage_as_file_error(source, "a whole skops file", "Save it again with `skops.io.dump`."):
        strange = sorted(set(skops_io.get_untrusted_types(data=content)) - set(TRUSTED))
        if strange:
            raise FileError(
                f"expected only types of scikit-learn and NumPy in {shown(source)}, got {', '.join(strange[:8])}. "
                "Loading them could run code. If you trust the file, load it in a module of yours and pass "
                "--model package.module:object."
            )
        check_opens("skops", content, source)  # after the types are known to hold no code
        model = skops_io.loads(content, trusted=list(TRUSTED))
    return estimator.facts_of(model, identity=sha256(content))


def _check_size(content: bytes, source: object) -> None:
    """Checks what the archive says about itself before anything is inflated.

    Raises:
        FileError: it is no archive, or has more inflated data than the limit and than models have.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            size = sum(part.file_size for part in archive.infolist())
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
        raise FileError(
            f"expected a whole skops file in {shown(source)}, got a damaged one ({error}). "
            "Save it again with `skops.io.dump`."
        ) from error
    limit = max(inflated_limit(), _MOST_INFLATED * len(content))
    if size > limit:
        raise FileError(
            f"expected at most {limit // 2**20} MiB of inflated data in {shown(source)}, got {size // 2**20} MiB. "
            f"If you trust the file, set {INFLATED_VARIABLE} to the MiB it may have."
        )
