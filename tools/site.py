"""What mkdocs does for docs/ beyond its pages (`make docs`): files that lie beside docs/.

CONTRIBUTING.md, SECURITY.md and CHANGELOG.md are pages of the site, too. Links to other files
outside of docs/, and to folders, are shown as their names: the site has no such page.
"""

import pathlib
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Names as pages: docs/security.md is another one than SECURITY.md.
BESIDE = {
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "SECURITY.md": "reporting.md",
    "CHANGELOG.md": "CHANGELOG.md",
}
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def on_config(config):
    """The folders of the second half, page by page."""
    (builders,) = config.nav[-1].values()
    for folder in ("protocols", "decisions"):
        pages = sorted((ROOT / "docs" / folder).glob("*.md"))
        builders.append({folder.capitalize(): [f"{folder}/{page.name}" for page in pages]})
    return config


def on_files(files, config):
    for name, page in BESIDE.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text()))
    return files


def on_page_markdown(markdown, page, config, files):
    here = pathlib.PurePosixPath(page.file.src_uri)
    # As the file lies in the repository.
    folder = ROOT if str(here) in BESIDE.values() else ROOT / "docs" / here.parent

    def link(match: re.Match) -> str:
        text, target, anchor = match[1], match[2], match[3] or ""
        if "://" in target or target.startswith("mailto:"):
            return match[0]
        path = (folder / target).resolve()
        if path.parent == ROOT and path.name in BESIDE:
            name = BESIDE[path.name]
        elif path.is_relative_to(ROOT / "docs") and not path.is_dir():
            name = path.relative_to(ROOT / "docs").as_posix()
        elif path.exists():
            return text
        else:
            return match[0]  # For mkdocs to complain about.
        return f"[{text}]({'../' * (len(here.parts) - 1)}{name}{anchor})"

    return LINK.sub(link, markdown)
