#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the links of the built site: every page, picture and anchor in its HTML exists.

    site_links.py SITE [--online]

Links to other sites must be https: with a host. --online also requests them; unreachable ones count as skipped. Exit
status: 1 if a link is broken.
"""
import html.parser
import pathlib
import sys
import urllib.error
import urllib.parse
import urllib.request

SOURCES = {"a": "href", "link": "href", "img": "src", "script": "src"}


class Page(html.parser.HTMLParser):
    """The anchors and links of a page."""

    def __init__(self, file):
        super().__init__()
        self.anchors, self.links = {"", "top"}, []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.anchors.update(found[key] for key in ("id", "name") if found.get(key))
        if found.get(SOURCES.get(tag)):
            self.links.append(found[SOURCES[tag]])


def answers(url):
    """Returns True if the server has the page, False if not, or None if it can't be reached or rejects programs."""
    request = urllib.request.Request(url, headers={"User-Agent": "Mozilla/5.0 (inlay, scripts/checks/site_links.py)"})
    try:
        with urllib.request.urlopen(request, timeout=20):
            return True
    except urllib.error.HTTPError as error:
        return False if error.code in (404, 410) else None
    except OSError:
        return None


def main():
    site = pathlib.Path(sys.argv[1]).resolve()
    online = "--online" in sys.argv[2:]
    pages = {file: Page(file) for file in sorted(site.rglob("*.html")) if "_static" not in file.parts}
    passed, faults, others = 0, [], set()
    for file, page in pages.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme in ("http", "https", "mailto", "data"):
                if parts.scheme == "https" and parts.netloc:
                    others.add(parts._replace(fragment="").geturl())
                elif parts.scheme != "data":
                    faults.append(f"{file.relative_to(site)}: {link} is no https: link")
                continue
            target = (file.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else file
            if not target.is_relative_to(site) or not target.exists():
                faults.append(f"{file.relative_to(site)}: {link} does not exist on the site")
            elif target in pages and urllib.parse.unquote(parts.fragment) not in pages[target].anchors:
                faults.append(f"{file.relative_to(site)}: {link} has no such anchor")
            else:
                passed += 1
    skipped = 0 if online else len(others)
    for url in sorted(others) if online else []:
        found = answers(url)
        if found is None:
            print(f"skipped {url}: not reached")
            skipped += 1
        elif found:
            passed += 1
        else:
            faults.append(f"{url} does not exist")
    print("\n".join(faults), end="\n" if faults else "")
    if skipped and not online:
        print(f"skipped {skipped} links to other sites: --online asks them")
    print(f"{passed} passed, {len(faults)} failed, {skipped} skipped")
    return 1 if faults or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
