"""Hooks of mkdocs (`make docs`): the pages of the site that are not files in docs/.

CONTRIBUTING.md, SECURITY.md and CHANGELOG.md are pages of the site, and so is the help of each
command. Links to other files outside of docs/, and to folders, become plain text.
"""

import pathlib
import re
import subprocess
import tempfile

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[1]
SM = ROOT / "build/release/sm"
# Names as pages: docs/security.md is another one than SECURITY.md.
BESIDE = {
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "SECURITY.md": "reporting.md",
    "CHANGELOG.md": "CHANGELOG.md",
}
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def commands() -> dict[str, list[str]]:
    """The words of each command by the name of its manual page: "tf-multi-worker"."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([SM, "man", "--write", folder], check=True, stdout=subprocess.DEVNULL)
        pages = sorted(page.stem for page in pathlib.Path(folder).glob("sm-*.1"))
    names = [page.removeprefix("sm-") for page in pages]
    return {name: name.split("-", 1) if name.split("-")[0] in names else [name] for name in names}


def help_of(words: list[str]) -> str:
    text = subprocess.run([SM, "help", *words], check=True, capture_output=True, text=True).stdout
    return f"# sm {' '.join(words)}\n\n```text\n{text}```\n"


def on_config(config):
    """The pages that are not in mkdocs.yml: commands, protocols and decisions."""
    users, builders = (next(iter(half.values())) for half in config.nav[-2:])
    users.append({"Commands": [f"commands/{name}.md" for name in commands()]})
    for folder in ("protocols", "decisions"):
        pages = sorted((ROOT / "docs" / folder).glob("*.md"))
        pages.sort(key=lambda page: page.stem != "README")
        builders.append({folder.capitalize(): [f"{folder}/{page.name}" for page in pages]})
    return config


def on_files(files, config):
    for name, page in BESIDE.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text()))
    for name, words in commands().items():
        files.append(File.generated(config, f"commands/{name}.md", content=help_of(words)))
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
