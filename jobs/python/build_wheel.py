"""Builds the wheel of the module: a zip file with the sources and three files about them.

It is the build backend of pyproject.toml (PEP 517), so that `pip install jobs/python` needs no other package and no
network. Equal sources give an equal file.

usage: python3 build_wheel.py DIRECTORY
"""

from __future__ import annotations

import base64
import hashlib
import pathlib
import re
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
NAME = "paceline"
_TIME = (1980, 1, 1, 0, 0, 0)  # the first of zip


def version() -> str:
    """Returns the module's version."""
    found = re.search(r'^__version__ = "([^"]+)"$', (HERE / NAME / "__init__.py").read_text("utf-8"), re.MULTILINE)
    assert found is not None, "paceline/__init__.py has no __version__"
    return found.group(1)


def metadata() -> str:
    """Returns the description of the package (PEP 566)."""
    return (f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {version()}\n"
            "Summary: Runs Paceline jobs from Python, through mrctl\n"
            "License: Apache-2.0\nRequires-Python: >=3.9\nProvides-Extra: pandas\n"
            'Requires-Dist: pandas; extra == "pandas"\nDescription-Content-Type: text/markdown\n\n' +
            (HERE / "README.md").read_text("utf-8"))


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):  # pylint: disable=unused-argument
    """Writes the wheel into the directory and returns its name (PEP 517)."""
    about = f"{NAME}-{version()}.dist-info"
    files = {f"{NAME}/{path.name}": path.read_bytes()
             for path in sorted((HERE / NAME).iterdir()) if path.suffix == ".py" or path.name == "py.typed"}
    files[f"{about}/METADATA"] = metadata().encode()
    files[f"{about}/WHEEL"] = (b"Wheel-Version: 1.0\nGenerator: paceline build_wheel\nRoot-Is-Purelib: true\n"
                               b"Tag: py3-none-any\n")
    record = "".join(f"{name},sha256={_digest(text)},{len(text)}\n" for name, text in files.items())
    files[f"{about}/RECORD"] = (record + f"{about}/RECORD,,\n").encode()
    wheel = f"{NAME}-{version()}-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / wheel, "w", zipfile.ZIP_DEFLATED) as out:
        for name, text in files.items():
            info = zipfile.ZipInfo(name, _TIME)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            out.writestr(info, text)
    return wheel


def build_sdist(sdist_directory, config_settings=None):  # pylint: disable=unused-argument
    """Refuses: the source of this package is the repository of Paceline."""
    raise NotImplementedError("the source of this package is the repository of Paceline; build a wheel")


def _digest(text: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    pathlib.Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    print(build_wheel(sys.argv[1]))
