"""The certificates that are trusted: those of the system, and those of a file for a service behind a private
authority.
"""

import ssl
from pathlib import Path

from drumbeat.engine.errors import ConfigurationError

CA_REMEDY = "name the certificate of its authority in DRUMBEAT_CA_FILE"


def trust_of(ca_file: Path | None) -> ssl.SSLContext | None:
    """Return what to trust, or None for what the system trusts. `ca_file` holds PEM certificates, which are
    trusted besides.

    Raise ConfigurationError if it cannot be read or holds none.
    """
    if ca_file is None:
        return None
    trust = ssl.create_default_context()
    try:
        trust.load_verify_locations(ca_file)
    except ssl.SSLError as error:
        raise ConfigurationError(
            "the file holds no certificate",
            where=str(ca_file),
            remedy="give PEM certificates in DRUMBEAT_CA_FILE",
        ) from error
    except OSError as error:
        raise ConfigurationError(
            f"the certificates cannot be read: {error.strerror}",
            where=str(ca_file),
            remedy="check DRUMBEAT_CA_FILE",
        ) from error
    return trust


def is_distrusted(problem: BaseException) -> bool:
    """Return whether a connection failed because the certificate of the other side is not trusted."""
    causes = (problem, getattr(problem, "certificate_error", None), getattr(problem, "os_error", None))
    return any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes)
