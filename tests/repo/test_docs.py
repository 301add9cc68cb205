"""The documents agree with the code, and their links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.figures import FIGURES
from netclaw.core.errors import CATEGORY_CODES, ERROR_CLASSES
from netclaw.core.exit_codes import ExitCode
from netclaw.core.session.outputs import OutputFilter
from netclaw.core.session.phase import LEGAL_MOVES
from tests.repo import tree

LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")
PAGES = [path for path in tree.files(suffix=".md") if "/fakes/" not in path]


def anchors(page: Path) -> set[str]:
    """The headings of a page as link targets."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.requirement("repo.docs-true")
@pytest.mark.parametrize("page", PAGES)
def test_links_between_pages_lead_somewhere(page: str) -> None:
    here = tree.ROOT / page
    for link in LINK.findall(here.read_text()):
        if "://" in link:
            continue
        place, _, anchor = link.partition("#")
        target = (here.parent / place).resolve() if place else here
        assert target.exists(), f"{page} links to {link}, which does not exist"
        if anchor:
            assert anchor in anchors(target), f"{page} links to {link}: no such heading"


@pytest.mark.requirement("repo.docs-true")
def test_troubleshooting_lists_every_error_code_with_its_way_out() -> None:
    text = (tree.ROOT / "docs/operator/troubleshooting.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| .+ \| (.+) \|$", text, re.MULTILINE))
    expected = {code.value: error.default_fix for code, error in ERROR_CLASSES.items()}
    assert rows == expected


@pytest.mark.requirement("repo.docs-true")
def test_troubleshooting_lists_every_failure_category_with_its_code() -> None:
    text = (tree.ROOT / "docs/operator/troubleshooting.md").read_text()
    rows = dict(re.findall(r"^\| (\w+) \| .+ \| `(\w+)` \|$", text, re.MULTILINE))
    assert rows == {category.value: code.value for category, code in CATEGORY_CODES.items()}


@pytest.mark.requirement("repo.docs-true")
def test_the_architecture_page_lists_the_legal_phase_moves() -> None:
    text = (tree.ROOT / "docs/developer/architecture.md").read_text()
    table = text.split("| from | to |", 1)[1].split("\n\n", 1)[0]
    rows = dict(re.findall(r"^\| (\w+) \| ([\w, ]+) \|$", table, re.MULTILINE))
    assert rows == {
        start.value: ", ".join(sorted(end.value for end in ends))
        for start, ends in LEGAL_MOVES.items()
    }


@pytest.mark.requirement("repo.docs-true")
def test_the_recovery_page_lists_every_exit_code() -> None:
    text = (tree.ROOT / "docs/developer/recovery.md").read_text()
    rows = {int(number) for number in re.findall(r"^\| (\d+) \| [A-Z]", text, re.MULTILINE)}
    assert rows == {code.value for code in ExitCode}


@pytest.mark.requirement("repo.docs-true")
def test_the_protocol_page_lists_every_filter_bit() -> None:
    text = (tree.ROOT / "docs/developer/protocol.md").read_text()
    rows = {
        int(bit): word for bit, word in re.findall(r"^\| (\d+) \| ([\w-]+) \|", text, re.MULTILINE)
    }
    expected = {bit.value: str(bit.name).lower().replace("_", "-") for bit in OutputFilter}
    expected.pop(OutputFilter.ALL.value, None)
    assert rows == expected


@pytest.mark.requirement("repo.docs-true")
def test_the_decision_index_lists_every_decision_once() -> None:
    pages = {Path(path).name for path in tree.files(under="docs/adr") if "/0" in path}
    listed = re.findall(r"\]\((\d{4}-[\w-]+\.md)\)", (tree.ROOT / "docs/adr/README.md").read_text())
    assert sorted(listed) == sorted(pages)
    numbers = [name[:4] for name in listed]
    assert len(set(numbers)) == len(numbers), "two decisions share a number"


@pytest.mark.requirement("repo.docs-true")
def test_every_script_named_in_a_document_exists() -> None:
    for page in PAGES:
        for name in re.findall(r"(?<![\w/])(?:\./)?scripts/(\w+)", (tree.ROOT / page).read_text()):
            assert (tree.ROOT / "scripts" / name).is_file(), f"{page} names scripts/{name}"


@pytest.mark.requirement("repo.docs-true")
def test_the_configuration_reference_says_what_the_model_says() -> None:
    command = [sys.executable, "tools/gen_config_docs.py", "--check"]
    done = subprocess.run(command, cwd=tree.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.requirement("repo.docs-true")
def test_every_figure_of_the_benchmarks_is_explained() -> None:
    page = (tree.ROOT / "docs/benchmarks.md").read_text()
    explained = page.split("\n## ", 2)[1]
    assert not [figure.key for figure in FIGURES if f"`{figure.key}`" not in explained]
