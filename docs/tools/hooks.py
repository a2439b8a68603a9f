"""What the site adds to MkDocs: patterns in the navigation, further pages, and their links.

A line of the navigation may be a pattern such as policies/*.md: every page that fits it and is not
named elsewhere in the navigation is listed, so a new page is found by being there. On disk, links
lead to files (../CONTRIBUTING.md); on the site, to the pages made of them. A policy without a page
gets one from its docstrings; see `policies.py`.
"""

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))
import policies

# A file outside docs/, and the page it becomes.
OUTSIDE = {
    "CONTRIBUTING.md": "contributing.md",
    "examples/tutorial.ipynb": "examples/tutorial.ipynb",
}
DECISIONS = "decisions/index.md"
# In policies/index.md, where the rows of policies without a page of their own go.
END_OF_TABLES = "<!-- policies without a page -->"
LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)]*)?\))")
SOURCE_LINK = re.compile(r"\[([^\]]+)\]\((?:\.\./)+src/[^)]*\)")


def title_of(page: Path) -> str:
    """Return the first heading of a page."""
    return page.read_text("utf-8").split("\n", 1)[0].removeprefix("# ").strip()


def named(item: Any) -> set[str]:
    """Return the pages that an entry of the navigation names, and the patterns."""
    if isinstance(item, str):
        return {item}
    inner = item if isinstance(item, list) else item.values()
    return {page for one in inner for page in named(one)}


def expanded(item: Any, docs: Path, elsewhere: set[str]) -> list[Any]:
    """Return an entry of the navigation with its patterns replaced by the pages that fit."""
    if isinstance(item, str):
        return [item]
    (name, value), *_ = item.items()
    if isinstance(value, list):
        inner = [entry for one in value for entry in expanded(one, docs, elsewhere)]
        return [{name: inner}] if inner else []
    if "*" not in value:
        return [{name: value}]
    pages = {page.relative_to(docs).as_posix() for page in docs.glob(value)}
    if value == "policies/*.md":
        pages |= {f"policies/{name}.md" for name in policies.without_page(docs)}
    found = sorted(pages - elsewhere, key=lambda page: (not page.endswith("index.md"), page))
    if value == "decisions/*.md" and DECISIONS not in found:
        found.insert(0, DECISIONS)
    if not found:
        return []
    return [{name: found[0] if len(found) == 1 else found}]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Replace the patterns of the navigation."""
    docs = Path(config.docs_dir)
    nav = config.nav or []
    config.nav = [entry for item in nav for entry in expanded(item, docs, named(nav))]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not files of docs/."""
    root = Path(config.config_file_path).parent
    for source, page in OUTSIDE.items():
        files.append(File.generated(config, page, content=(root / source).read_text("utf-8")))
    if files.get_file_from_path(DECISIONS) is None:
        files.append(File.generated(config, DECISIONS, content=decisions(Path(config.docs_dir))))
    for name in policies.without_page(Path(config.docs_dir)):
        made = File.generated(config, f"policies/{name}.md", content=policies.page(name))
        files.append(made)
    return files


def decisions(docs: Path) -> str:
    """Return the list of decisions, as a page."""
    records = sorted((docs / "decisions").glob("[0-9]*.md"))
    rows = "\n".join(f"- [{title_of(record)}]({record.name})" for record in records)
    return f"# Decisions\n\nWhy the code is as it is, on half a page each.\n\n{rows}\n"


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: Any) -> str:
    """Let links to folders and to files outside docs/ lead to their pages; complete the index.

    The site has no source files: a link to one becomes its name.
    """
    if page.file.src_uri == "policies/index.md":
        section = policies.index_section(policies.without_page(Path(config.docs_dir)))
        markdown = markdown.replace(END_OF_TABLES, section + END_OF_TABLES)
    markdown = SOURCE_LINK.sub(r"\1", markdown)
    outside = {made: source for source, made in OUTSIDE.items()}
    here = page.file.src_uri
    up = "../" * here.count("/")

    def lead(match: re.Match[str]) -> str:
        before, target, after = match.groups()
        if here in outside:  # it lies above docs/
            target = target.removeprefix("docs/")
        elif target.startswith(up + "../"):
            target = up + OUTSIDE.get(target.removeprefix(up + "../"), target)
        if target.endswith("/") and not target.startswith("http"):
            target += "index.md"
        return before + target + after

    return LINK.sub(lead, markdown)
