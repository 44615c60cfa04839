"""What is wrong with a site or its sources is found: `python3 -m unittest tests` in .ci/book."""

import pathlib
import tempfile
import unittest

from check import check, check_search
from source import Source, SourceError, listed

LIBRARY = """
module.exports = { Index: { load: (words) => ({ search: (query) => (words[query] ?? []).map((ref) => ({ ref })) }) } };
"""
WORDS = """
window.search = Object.assign(window.search, { doc_urls: ["a.html#x", "b.html"], search_options: {}, index: { word: [1, 0] } });
"""


class Folder(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = pathlib.Path(place.name)

    def put(self, name, text):
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


class Checking(Folder):
    def problems(self, content, head="<title>A</title>"):
        """What is wrong with a site of two pages, one of which has this content."""
        self.put("b c/index.html", "<title>B</title><main><h1 id='b'>B</h1><a href='../a.html#x%20y'>A</a></main>")
        self.put("script.star", "publish()")
        self.put("a.html", f"{head}<h1>Of every page</h1><main>{content}</main>")
        return list(check(self.folder))

    def test_a_good_page_has_no_problems(self):
        content = (
            "<h1 id='x y'>A</h1><a href='b%20c/index.html#b'></a><a href='b%20c/'></a><a href='#x%20y'></a><a href=''></a>"
            "<a href='script.star'></a><a href='https://example.com/none#x'></a><a href='mailto:a@example.com'></a>"
            "<img src='script.star' alt='a picture'><svg><title>not of the page</title></svg>"
        )
        self.assertEqual(self.problems(content), [])

    def test_a_link_that_leads_nowhere_is_found(self):
        found = self.problems("<h1 id='x y'>A</h1><a href='none.html'></a><a href='b%20c'></a><a href='../a.html'></a>")
        self.assertEqual(
            found,
            [
                "a.html: dead link `none.html`: the site has no none.html",
                "a.html: dead link `b%20c`: the site has no b c",
                "a.html: dead link `../a.html`: the site has no ../a.html",
            ],
        )

    def test_a_fragment_without_an_element_is_found(self):
        found = self.problems("<h1 id='x'>A</h1><a href='#y'></a><a href='b%20c/#c'></a><a href='script.star#L1'></a>")
        self.assertEqual(
            found,
            [
                "a.html: dead fragment `#y`: a.html has no element `y`",
                "a.html: dead fragment `b%20c/#c`: b c/index.html has no element `c`",
                "a.html: dead fragment `script.star#L1`: script.star has no element `L1`",
                "b c/index.html: dead fragment `../a.html#x%20y`: a.html has no element `x y`",
            ],
        )

    def test_a_page_without_one_title_and_heading_is_found(self):
        heading = "<h1 id='x y'>A</h1>"
        self.assertEqual(self.problems(heading, head=""), ["a.html: has 0 elements as its title, not one"])
        self.assertEqual(self.problems(heading, head="<title> </title>"), ["a.html: has an empty title"])
        self.assertEqual(self.problems("<p id='x y'>"), ["a.html: has 0 elements as its first-level heading, not one"])
        self.assertEqual(self.problems(heading * 2), ["a.html: has 2 elements as its first-level heading, not one"])
        self.assertEqual(self.problems("<h1 id='x y'><a></a></h1>"), ["a.html: has an empty first-level heading"])

    def test_an_image_without_alternative_text_is_found(self):
        found = self.problems("<h1 id='x y'>A</h1><img src='script.star'><img src='script.star' alt=' '><img src='x' alt='x'>")
        without = "a.html: the image `script.star` has no alternative text"
        self.assertEqual(found, [without, without, "a.html: dead link `x`: the site has no x"])

    def test_what_works_only_elsewhere_is_found(self):
        found = self.problems("<h1 id='x y'>A</h1><a href='/a.html'></a><script src='//example.com/x.js'></script>")
        self.assertEqual(
            found,
            [
                "a.html: `/a.html` is not relative, but the site can be served below any path",
                "a.html: loads `//example.com/x.js` from another host",
            ],
        )

    def test_a_site_without_pages_is_found(self):
        self.assertEqual(list(check(self.folder)), [f"{self.folder} has no pages"])

    def test_a_search_that_finds_another_page_first_is_found(self):
        self.assertEqual(list(check_search(self.folder, {"word": ["a.html"]})), [f"{self.folder} has no search"])
        self.put("elasticlunr-1.min.js", LIBRARY)
        self.put("searchindex-2.js", WORDS)
        self.assertEqual(list(check_search(self.folder, {"word": ["a.html", "b.html"]})), [])
        self.assertEqual(
            list(check_search(self.folder, {"word": ["a.html"], "other": ["a.html", "b.html"]})),
            ["search `word`: finds b.html first, not a.html", "search `other`: finds nothing first, not a.html or b.html"],
        )


class Writing(Folder):
    """The sources of the site, from a small repository."""

    def write(self, index, readme="# R\n", page="# A\n"):
        self.put("README.md", readme)
        self.put("docs/README.md", index)
        self.put("docs/guides/a.md", page)
        self.put("scripts/x.star", "publish()  # ```\n")
        self.put(".ci/run", "#!/usr/bin/env bash\n")
        self.put("docs/images/x.png", "")
        Source(self.folder).write(self.folder / "src")
        return {path: (self.folder / "src" / path).read_text(encoding="utf-8") for path in self.written()}

    def written(self):
        return [file.relative_to(self.folder / "src").as_posix() for file in (self.folder / "src").rglob("*.*")]

    INDEX = "# D\n\n## Guides\n\nDo things:\n\n- [A](guides/a.md): a text.\n"

    def test_the_index_is_the_summary(self):
        index = "## One\n\n- [A](a.md): x\n- [B](../b.md)\n\nDo:\n\n- [C](c.md)\n\n## Two\n\n- [D](d.md)\n\n## Table\n\n| x |\n"
        self.assertEqual(
            listed(index),
            [
                ("One", [("A", "docs/a.md"), ("B", "b.md")]),
                ("One: do", [("C", "docs/c.md")]),
                ("Two", [("D", "docs/d.md")]),
            ],
        )
        summary = self.write(self.INDEX)["SUMMARY.md"]
        self.assertIn("\n# Guides: do things\n\n- [A](docs/guides/a.md)\n", summary)

    def test_links_lead_to_where_the_site_has_the_file(self):
        page = (
            "# A\n[I](../README.md#x), [R](../../README.md) ![x](../images/x.png)\n[S](../../scripts), [X](../../scripts/x.star)"
            " [run](../../.ci/run) [web](https://example.com/README.md) [none](none.md) [out](../../../x)\n"
            "```python\n[R](../../README.md)\n```\n"
        )
        files = self.write(self.INDEX, page=page)
        self.assertEqual(
            files["docs/guides/a.md"],
            "# A\n[I](../index.md#x), [R](../../index.md) ![x](../images/x.png)\n"
            "[S](../../files/scripts/index.md), [X](../../files/scripts/x.star.md)"
            " [run](../../files/ci/run.md) [web](https://example.com/README.md) [none](none.md) [out](../../../x)\n"
            "```python\n[R](../../README.md)\n```\n",
        )
        self.assertIn("docs/images/x.png", files)
        self.assertEqual(files["files/scripts/index.md"], "# scripts\n\n- [x.star](x.star.md)\n")
        # The fence is longer than any in the file.
        self.assertIn("[Download](x.star)\n\n````python\npublish()  # ```\n````\n", files["files/scripts/x.star.md"])
        self.assertEqual(files["files/scripts/x.star"], "publish()  # ```\n")
        self.assertIn("    - [.ci/run](files/ci/run.md)\n", files["SUMMARY.md"])

    def test_a_page_that_the_index_does_not_list_is_refused(self):
        with self.assertRaisesRegex(SourceError, "docs/README.md does not list docs/guides/a.md"):
            self.write("# D\n")
        self.put("OTHER.md", "# O\n")
        with self.assertRaisesRegex(SourceError, "README.md links to `OTHER.md`, which docs/README.md does not list"):
            self.write(self.INDEX, readme="[O](OTHER.md)\n")

    def test_a_listed_page_that_does_not_exist_is_refused(self):
        with self.assertRaisesRegex(SourceError, "docs/README.md lists `docs/none.md`, which does not exist"):
            self.write(self.INDEX + "- [None](none.md)\n")


if __name__ == "__main__":
    unittest.main()
