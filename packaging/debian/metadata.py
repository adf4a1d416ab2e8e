#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Describes the installed Python module to pip and importlib.metadata, as a wheel does: metadata.py DESTDIR."""
import pathlib
import re
import sys
import tomllib

project = tomllib.loads(pathlib.Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
version = re.search(r"^  version: '(.*)',$", pathlib.Path("meson.build").read_text(encoding="utf-8"), re.MULTILINE)[1]
(packages,) = pathlib.Path(sys.argv[1]).glob("usr/lib/python3*/dist-packages")
folder = packages / f"{project['name']}-{version}.dist-info"
folder.mkdir()
fields = {
    "Metadata-Version": "2.1",
    "Name": project["name"],
    "Version": version,
    "Summary": project["description"],
    "License": project["license"],
    "Requires-Python": project["requires-python"],
}
(folder / "METADATA").write_text("".join(f"{name}: {text}\n" for name, text in fields.items()), encoding="utf-8")
(folder / "INSTALLER").write_text("debian\n", encoding="ascii")
