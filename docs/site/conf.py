# SPDX-License-Identifier: MIT
"""Sphinx settings of the site, and links from names of the C API in text and code to their documentation.
scripts/docs.sh sets the paths of Doxygen's XML and of the pages made by prepare.py."""

import os
import pathlib
import re

from docutils import nodes
from sphinx import addnodes
from sphinx.util.nodes import make_refnode

BUILD = pathlib.Path(os.environ["INLAY_SITE_BUILD"])
SITE = pathlib.Path(os.environ["INLAY_SITE_SOURCE"])

project = "inlay"
copyright = "the authors of inlay. MIT license"  # pylint: disable=redefined-builtin
html_title = "inlay"
extensions = ["breathe", "myst_parser", "sphinx_copybutton"]
highlight_language = "none"
smartquotes = False

myst_heading_anchors = 4
breathe_projects = {"inlay": str(BUILD / "doxygen/xml")}
breathe_default_project = "inlay"
breathe_domain_by_extension = {"h": "c"}
breathe_show_define_initializer = True

html_theme = "furo"
html_static_path = [str(SITE / "static")]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5d8f", "color-brand-content": "#0b5d8f"},
    "dark_css_variables": {"color-brand-primary": "#6cb8e6", "color-brand-content": "#6cb8e6"},
    "top_of_page_button": None,
}
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_selector = "div:not(.highlight-none) > div.highlight > pre"

NAME = re.compile(r"\b(?:inlay_\w+(?:\.\w+)?|INLAY_[A-Z0-9_]+)(?:\(\))?")


def api_objects(env):
    """Returns the page and anchor of each name of the C API: functions, types, fields as struct.field, enum values,
    macros."""
    found = {}
    for name, _, kind, page, anchor, _ in env.get_domain("c").get_objects():
        found[name] = (page, anchor)
        if kind == "enumerator":
            found[name.rpartition(".")[2]] = (page, anchor)
    return found


def linked(app, page, text, known, wrap):
    """Returns the nodes of a text with links for known names of the API, or None if there are none."""
    parts, end = [], 0
    for match in NAME.finditer(text):
        name = match.group().removesuffix("()")
        if name not in known:
            name = name.partition(".")[0]
        if name not in known:
            continue
        parts.append(wrap(text[end : match.start()]))
        target, anchor = known[name]
        parts.append(make_refnode(app.builder, page, target, anchor, wrap(match.group())))
        end = match.end()
    return [*parts, wrap(text[end:])] if parts else None


def is_plain(node):
    """True if a text may become a link: it is not in a link, a heading, a signature or a block of code."""
    while node is not None:
        if isinstance(node, (nodes.reference, nodes.title, nodes.literal_block)) or node.tagname.startswith("desc_sig"):
            return False
        if node.tagname in ("desc_signature", "desc_name", "toctree"):
            return False
        node = node.parent
    return True


def link_api_names(app, tree, page):
    known = api_objects(app.env)
    for node in list(tree.findall(nodes.Text)):
        if not is_plain(node):
            continue
        literal = isinstance(node.parent, nodes.literal)
        old = node.parent if literal else node
        wrap = (lambda text: nodes.literal(text, text, classes=["code"])) if literal else nodes.Text
        new = linked(app, page, node.astext(), known, wrap)
        if new is not None:
            old.parent.replace(old, [part for part in new if part.astext()])


def improve_api_pages(_, tree):
    """Marks code in header comments as C, makes parameters separate elements, and restores dashes."""
    for block in tree.findall(nodes.literal_block):
        if "language" not in block and block.source is None and any(p.tagname == "desc" for p in parents(block)):
            block["language"] = "c"
    for parameter in tree.findall(addnodes.desc_parameter):
        parameter.attributes.pop("noemph", None)
    for text in list(tree.findall(nodes.Text)):
        if text.astext() == " -- ":
            text.parent.replace(text, nodes.Text(" \u2013 "))


def parents(node):
    while node.parent is not None:
        node = node.parent
        yield node


def setup(app):
    app.connect("doctree-resolved", link_api_names)
    app.connect("doctree-read", improve_api_pages)
