#!/usr/bin/env python3
"""Writes what mdBook builds the documentation site from: the pages with a summary, and the files that they link to.

    .ci/book/source.py FOLDER

docs/README.md is the index of the pages; the summary is made from its lists. A link in the repository can lead where a site
has no page: to a folder's README.md, a script or a folder. Each such file gets a page of its own below files/.
"""

import os
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
INDEX = "docs/README.md"
LINK = re.compile(r"\]\(([^()\s#:]+)(#[^()\s]*)?\)")
IMAGES = (".png", ".svg")
LANGUAGES = {".html": "html", ".json": "json", ".star": "python", ".toml": "toml", ".yaml": "yaml"}


class SourceError(Exception):
    """A page or link that the site cannot have."""


def listed(index):
    """The lists of the index: (title of the list, [(title of the page, its path)])."""
    parts, section, label = [], "", ""
    for line in index.splitlines():
        if line.startswith("## "):
            section, label = line[3:], ""
        elif line.endswith(":") and not line.startswith("-"):
            label = f": {line[0].lower()}{line[1:-1]}"
        elif item := re.match(r"- \[(.+?)\]\(([^)]+)\)", line):
            title = section + label
            if not parts or parts[-1][0] != title:
                parts.append((title, []))
            parts[-1][1].append((item[1], os.path.normpath(os.path.join(os.path.dirname(INDEX), item[2]))))
    return parts


def outside_blocks(text, change):
    """The text with changed lines, except those in fenced blocks."""
    lines, is_inside = [], False
    for line in text.splitlines(keepends=True):
        is_fence = line.lstrip().startswith("```")
        is_inside ^= is_fence
        lines.append(line if is_inside or is_fence else change(line))
    return "".join(lines)


class Source:
    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.parts = listed(self.read(INDEX))
        self.pages = ["README.md", INDEX, *(path for _, part in self.parts for _, path in part)]
        # The pages of the files and folders that pages link to, and the images.
        self.files, self.images = {}, set()

    def read(self, path):
        try:
            return (self.root / path).read_text(encoding="utf-8")
        except FileNotFoundError:
            raise SourceError(f"{INDEX} lists `{path}`, which does not exist") from None

    def place(self, path):
        """Where the site has this file or folder. mdBook would link README.md to README.html, which it does not make."""
        if path in self.pages:
            return re.sub(r"(^|/)README\.md$", r"\1index.md", path)
        if path.endswith(IMAGES):
            return path
        # Web servers may refuse names that begin with a dot.
        place = "files/" + path.replace("/.", "/").lstrip(".")
        return f"{place}/index.md" if (self.root / path).is_dir() else f"{place}.md"

    def linked(self, page, line):
        """A line of the page with links that lead somewhere on the site."""

        def change(link):
            path = os.path.normpath(os.path.join(os.path.dirname(page), link[1]))
            # Code can look like a link; a dead link is found in the finished site.
            if path.startswith("..") or not (self.root / path).exists():
                return link[0]
            if path.endswith(IMAGES):
                self.images.add(path)
            elif path not in self.pages:
                if path.endswith(".md"):
                    raise SourceError(f"{page} links to `{link[1]}`, which {INDEX} does not list")
                self.add_file(path)
            target = os.path.relpath(self.place(path), os.path.dirname(self.place(page)) or ".")
            return f"]({target}{link[2] or ''})"

        return LINK.sub(change, line)

    def add_file(self, path):
        file = self.root / path
        if not file.is_dir():
            self.files[path] = self.code_page(path)
        elif path not in self.files:
            inside = [f"{path}/{entry.name}" for entry in sorted(file.iterdir()) if entry.is_file()]
            for entry in inside:
                self.add_file(entry)
            links = [f"- [{os.path.basename(entry)}]({os.path.basename(self.place(entry))})\n" for entry in inside]
            self.files[path] = f"# {path}\n\n{''.join(links)}"

    def raw_place(self, path):
        """Where the site has the file itself. A page of somebody else must not open as a page of the site."""
        return self.place(path).removesuffix(".md") + (".txt" if path.endswith(".html") else "")

    def code_page(self, path):
        text = self.read(path)
        language = LANGUAGES.get(os.path.splitext(path)[1], "python" if text.startswith("#!/usr/bin/env python") else "text")
        fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
        download = os.path.basename(self.raw_place(path))
        return f"# {path}\n\n[Download]({download})\n\n{fence}{language}\n{text.rstrip()}\n{fence}\n"

    def files_page(self):
        links = "".join(f"- [{path}]({os.path.relpath(self.place(path), 'files')})\n" for path in sorted(self.files))
        return f"# Files\n\nThe files of the repository that the pages link to.\n\n{links}"

    def summary(self):
        lines = ["# Summary\n\n[Introduction](index.md)\n[Documentation](docs/index.md)\n"]
        for title, part in self.parts:
            lines.append(f"\n# {title}\n\n")
            lines += [f"- [{name}]({self.place(path)})\n" for name, path in part]
        lines.append("\n---\n\n- [Files](files/index.md)\n")
        lines += [f"    - [{path}]({self.place(path)})\n" for path in sorted(self.files)]
        return "".join(lines)

    def write(self, folder):
        folder = pathlib.Path(folder)
        for page in sorted((self.root / "docs").rglob("*.md")):
            if (name := page.relative_to(self.root).as_posix()) not in self.pages:
                raise SourceError(f"{INDEX} does not list {name}")
        for page in self.pages:
            put(folder / self.place(page), outside_blocks(self.read(page), lambda line: self.linked(page, line)))
        for path, text in self.files.items():
            put(folder / self.place(path), text)
            if (self.root / path).is_file():
                put(folder / self.raw_place(path), (self.root / path).read_bytes())
        put(folder / "files/index.md", self.files_page())
        put(folder / "SUMMARY.md", self.summary())
        for path in self.images:
            put(folder / path, (self.root / path).read_bytes())


def put(file, content):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    Source(ROOT).write(folder / "src")
    for file in ["book.toml", "site.css"]:
        shutil.copyfile(pathlib.Path(__file__).parent / file, folder / file)


if __name__ == "__main__":
    try:
        main()
    except SourceError as error:
        sys.exit(f"error: {error}")
