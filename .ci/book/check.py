#!/usr/bin/env python3
"""Checks the built documentation site, because mdBook builds pages with dead links without a word. tests/docs/ checks the
links of the repository; what mdBook makes of links, headings and images is seen in the HTML only.

    .ci/book/check.py SITE

Every link and `#fragment` must lead somewhere on the site, every page must have one title and one heading of the first
level, every image an alternative text, and no page may load from another host. The search must find the right page first.
"""

import html.parser
import json
import os
import pathlib
import subprocess
import sys
import urllib.parse

# The sidebar without scripts: it is shown in a frame, never as a page.
FRAME = "toc.html"
# What a reader searches for, and the pages that may be the first result.
SEARCHES = {
    "rate limit": ["docs/guides/session-scripts.html", "docs/guides/recipes.html"],
    "OAuth": ["docs/guides/oauth-to-servers.html", "docs/guides/recipes.html"],
    "hide a tool": ["docs/guides/recipes.html", "docs/guides/session-scripts.html"],
    "Redis": ["docs/guides/state-and-redis.html"],
}
LINKS = {"a": "href", "area": "href", "iframe": "src", "img": "src", "link": "href", "script": "src", "source": "src"}


class Page(html.parser.HTMLParser):
    """What the checks need of a page."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.images = set(), [], []
        self.titles, self.headings = [], []
        # The element whose text is read, and whether the parser is in the content: the bar above has a heading as well.
        self.reading, self.is_in_main = None, False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids.update(attributes[name] for name in ("id", "name") if attributes.get(name))
        if attributes.get(LINKS.get(tag)) is not None:
            self.links.append((tag, attributes[LINKS[tag]]))
        if tag == "img":
            self.images.append((attributes.get("src"), attributes.get("alt")))
        elif tag == "main":
            self.is_in_main = True
        # An SVG image can have a title too, which is not the page's.
        elif tag == "title" and not self.is_in_main or tag == "h1" and self.is_in_main:
            self.reading = self.titles if tag == "title" else self.headings
            self.reading.append("")

    def handle_endtag(self, tag):
        if tag in ("title", "h1"):
            self.reading = None
        elif tag == "main":
            self.is_in_main = False

    def handle_data(self, data):
        if self.reading:
            self.reading[-1] += data


def check(site):
    """What is wrong, one line for each problem."""
    site = pathlib.Path(site)
    files = {file.relative_to(site).as_posix() for file in site.rglob("*") if file.is_file()}
    pages = {name: Page((site / name).read_text(encoding="utf-8")) for name in sorted(files) if name.endswith(".html")}
    if not pages:
        yield f"{site} has no pages"
    for name, page in pages.items():
        if name != FRAME:
            yield from names(name, page)
        for source, text in page.images:
            if not (text or "").strip():
                yield f"{name}: the image `{source}` has no alternative text"
        for tag, link in page.links:
            if problem := dead(name, tag, link, files, pages):
                yield f"{name}: {problem}"


def names(name, page):
    for what, found in [("title", page.titles), ("first-level heading", page.headings)]:
        if len(found) != 1:
            yield f"{name}: has {len(found)} elements as its {what}, not one"
        elif not found[0].strip():
            yield f"{name}: has an empty {what}"


def dead(name, tag, link, files, pages):
    """Why this link of the page leads nowhere, or nothing."""
    parts = urllib.parse.urlsplit(link)
    if parts.scheme or parts.netloc:
        return None if tag == "a" or parts.scheme == "data" else f"loads `{link}` from another host"
    if parts.path.startswith("/"):
        return f"`{link}` is not relative, but the site can be served below any path"
    path = urllib.parse.unquote(parts.path)
    target = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
    if path.endswith("/"):
        target = os.path.normpath(f"{target}/index.html")
    if target not in files:
        return f"dead link `{link}`: the site has no {target}"
    fragment = urllib.parse.unquote(parts.fragment)
    if fragment and (target not in pages or fragment not in pages[target].ids):
        return f"dead fragment `{link}`: {target} has no element `{fragment}`"
    return None


def check_search(site, searches):
    """The site's own search finds one of the expected pages first."""
    library, index = (next(pathlib.Path(site).glob(pattern), None) for pattern in ["elasticlunr*.js", "searchindex*.js"])
    if not library or not index:
        yield f"{site} has no search"
        return
    command = ["node", pathlib.Path(__file__).with_name("search.js"), library, index, *searches]
    results = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    for (query, expected), found in zip(searches.items(), results, strict=True):
        first = found[0].split("#")[0] if found else "nothing"
        if first not in expected:
            yield f"search `{query}`: finds {first} first, not {' or '.join(expected)}"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    site = sys.argv[1]
    problems = [*check(site), *check_search(site, SEARCHES)]
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
