"""The certificates, one file each, and their table, which the command line and the tests read."""

from collections.abc import Callable

from hammingbox.certificates.base import Certificate, CertificateResult, Claims
from hammingbox.errors import unknown_name

CERTIFICATES: dict[str, Callable[..., Certificate]] = {}


def certificate_named(name: str) -> Certificate:
    """A method of the table with its default settings.

    Raises:
        InputError: the table has no such name.
    """
    if name not in CERTIFICATES:
        raise unknown_name("certificate", name, CERTIFICATES)
    return CERTIFICATES[name]()


__all__ = ["CERTIFICATES", "Certificate", "CertificateResult", "Claims", "certificate_named"]
