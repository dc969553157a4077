"""The certificates, one file each, and their table, which the command line and the tests read."""

from collections.abc import Callable

from hammingbox.certificates.ablation import Ablation
from hammingbox.certificates.additive import Additive
from hammingbox.certificates.base import Certificate, CertificateResult, Claims
from hammingbox.certificates.cascade import Cascade
from hammingbox.certificates.exact import Exact
from hammingbox.certificates.relaxation import Relaxation
from hammingbox.certificates.tree_search import TreeSearch
from hammingbox.errors import unknown_name

CERTIFICATES: dict[str, Callable[..., Certificate]] = {
    "auto": Cascade,
    "additive": Additive,
    "relaxation": Relaxation,
    "trees": TreeSearch,
    "exact": Exact,
    "ablation": Ablation,
}


def certificate_named(name: str) -> Certificate:
    """A method of the table with its default settings.

    Raises:
        InputError: the table has no such name.
    """
    if name not in CERTIFICATES:
        raise unknown_name("certificate", name, CERTIFICATES)
    return CERTIFICATES[name]()


__all__ = [
    "CERTIFICATES",
    "Ablation",
    "Additive",
    "Cascade",
    "Certificate",
    "CertificateResult",
    "Claims",
    "Exact",
    "Relaxation",
    "TreeSearch",
    "certificate_named",
]
