"""Turns what a tool gave back into text; whatever cannot be shown is named instead."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import mcp_types as types


def text_of(result: types.CallToolResult, *, max_chars: int) -> tuple[str, bool]:
    """The result as text of at most `max_chars`, and whether that is all of it."""
    text = "\n".join(_parts(result.content))
    if not text and result.structured_content is not None:
        text = json.dumps(result.structured_content, ensure_ascii=False)
    return text[:max_chars], len(text) <= max_chars


def _parts(blocks: Iterable[types.ContentBlock]) -> Iterator[str]:
    for block in blocks:
        match block:
            case types.TextContent():
                yield block.text
            case types.ImageContent() | types.AudioContent():
                yield f"[{block.type} {block.mime_type}, {len(block.data) * 3 // 4} bytes]"
            case types.ResourceLink():
                yield f"[resource {block.name}: {block.uri}]"
            case types.EmbeddedResource(resource=types.TextResourceContents() as resource):
                yield resource.text
            case _:
                yield f"[{block.type}]"
