"""Recent files: from receipts of successful calls, newest first, each once, ten at most."""

from __future__ import annotations

import pytest

from netclaw.core.context.working_context import RECENT_FILES, with_activity
from netclaw.core.tool_call import FileActivity, FileOperation, OutcomeCategory, ToolReceipt


def touching(
    *paths: str,
    operation: FileOperation = FileOperation.READ,
    category: OutcomeCategory = OutcomeCategory.SUCCESS,
    is_folder: bool = False,
) -> ToolReceipt:
    activity = tuple(
        FileActivity(path=path, operation=operation, is_folder=is_folder) for path in paths
    )
    return ToolReceipt(category=category, file_activity=activity)


@pytest.mark.requirement("context.recent-files")
def test_the_newest_is_first_and_each_is_there_once() -> None:
    recent = with_activity(("/b", "/a"), touching("/c", "/a", operation=FileOperation.WRITE))
    assert recent == ("/a", "/c", "/b")


@pytest.mark.requirement("context.recent-files")
def test_ten_are_kept() -> None:
    recent: tuple[str, ...] = ()
    for number in range(RECENT_FILES + 5):
        recent = with_activity(recent, touching(f"/{number}"))
    assert len(recent) == RECENT_FILES
    assert (recent[0], recent[-1]) == ("/14", "/5")


@pytest.mark.requirement("context.recent-files")
@pytest.mark.parametrize(
    "receipt",
    [
        touching("/x", category=OutcomeCategory.FAILURE),
        touching("/x", operation=FileOperation.DECLARE_PROJECT_SCOPE),
        touching("/x", is_folder=True),
        touching(),
    ],
)
def test_failures_folders_and_declarations_touch_no_file(receipt: ToolReceipt) -> None:
    recent = ("/a",)
    assert with_activity(recent, receipt) is recent
