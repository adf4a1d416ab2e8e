# SPDX-License-Identifier: MIT
"""Makes a page of each public header, in its order. Sections start at a comment line `/* ---- Title ---- */`, followed
by the comment below it and by breathe's output for each public name."""

import re
import xml.etree.ElementTree

SECTION = re.compile(r"^/\* ---- (.*?) -+ \*/$", re.MULTILINE)
PROSE = re.compile(r"\A\s*/\*\n(.*?)\n \*/", re.DOTALL)
DIRECTIVES = {"struct": "doxygenstruct", "enum": "doxygenenum", "typedef": "doxygentypedef",
              "function": "doxygenfunction", "define": "doxygendefine"}
GUARD = re.compile(r"^INLAY_[A-Z]+_H$")


def names_of(xml_folder, header):
    """Returns the public names of a header as (line, kind, name)."""
    root = xml.etree.ElementTree.parse(xml_folder / f"{header}_8h.xml").getroot()
    for member in root.iter("memberdef"):
        name = member.findtext("name")
        if not GUARD.match(name) and name != "INLAY_API":
            yield int(member.find("location").get("line")), member.get("kind"), name
    for inner in root.iter("innerclass"):
        struct = xml.etree.ElementTree.parse(xml_folder / f"{inner.get('refid')}.xml").getroot()
        yield int(struct.find("compounddef/location").get("line")), "struct", inner.text


def undocumented(xml_folder, header):
    """Returns the enum values without a comment, which Doxygen does not report."""
    root = xml.etree.ElementTree.parse(xml_folder / f"{header}_8h.xml").getroot()
    for value in root.iter("enumvalue"):
        if not any("".join(value.find(tag).itertext()).strip() for tag in ("briefdescription", "detaileddescription")):
            yield value.findtext("name")


def directive(kind, name):
    options = ":members:\n" if kind == "struct" else ""
    return f"```{{{DIRECTIVES[kind]}}} {name}\n{options}```\n"


def page(text, xml_folder, header):
    """Returns the Markdown page of a header with this text."""
    parts = [f"# {header}.h\n", f"`#include <inlay/{header}.h>`\n",
             f"```{{doxygenfile}} {header}.h\n:sections: briefdescription detaileddescription\n```\n"]
    names = sorted(names_of(xml_folder, header))
    sections = [(text.count("\n", 0, match.start()) + 1, match) for match in SECTION.finditer(text)]
    for line, match in sections:
        end = next((other for other, _ in sections if other > line), len(text))
        prose = PROSE.match(text[match.end() :])
        parts.append(f"## {match.group(1)}\n")
        if prose:
            parts.append(re.sub(r"^ \* ?", "", prose.group(1), flags=re.MULTILINE) + "\n")
        parts += [directive(kind, name) for at, kind, name in names if line < at < end]
    if names and names[0][0] < (sections[0][0] if sections else 0):
        raise ValueError(f"{header}.h: {names[0][2]} stands before the first section")
    return "\n".join(parts)
