"""A daemon and a platform in memory, for the rules of ingress: what was admitted, what was told.

The daemon keeps what the real one keeps (inputs by source id, cursors, an inbox) and fails on
demand, before or after it stored something.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from netclaw.adapters.attachments import Files
from netclaw.adapters.backfill import Backfill
from netclaw.adapters.driver import (
    Abilities,
    Attachment,
    ChannelConfig,
    DriverFailure,
    Health,
    Incoming,
    Place,
    Post,
    Received,
    RefusedFailure,
    Thread,
)
from netclaw.adapters.ingress import Pipeline
from netclaw.adapters.parts import Counters, Gate, HostContext
from netclaw.adapters.patience import Patience
from netclaw.adapters.scanning import Scanner
from netclaw.core.authority import Audience, narrower
from netclaw.core.authz.profiles import AttachmentCategory, AttachmentRule
from netclaw.core.errors import InvalidArgumentError, NetclawError, NotFoundError
from netclaw.wire.v1 import common_pb2
from netclaw.wire.v1 import gateway_pb2 as pb
from tests.adapters.not_asked import DaemonNotAsked, PlatformNotAsked

EVERYTHING = AttachmentRule(
    categories=frozenset(AttachmentCategory), max_file_bytes=100_000, max_files_per_message=3
)
IMAGES = AttachmentRule(
    categories=frozenset({AttachmentCategory.IMAGE}),
    max_file_bytes=100_000,
    max_files_per_message=3,
)
CONFIG = ChannelConfig(
    name="slack",
    allowed_channel_ids=frozenset({"C1", "C2"}),
    allow_direct_messages=True,
    attachments={"Team": EVERYTHING, "Public": IMAGES},
)
US = "<@BOT>"


def thread(name: str = "1", channel: str = "C1", place: Place = Place.CHANNEL) -> Thread:
    """A thread of a channel."""
    return Thread(channel_id=channel, thread_id=name, place=place, boundary=f"slack:T1/{channel}")


def message(
    event_id: str,
    text: str = f"{US} hello",
    *,
    where: Thread | None = None,
    sender: str = "U1",
    at_ms: int = 1000,
    is_in_thread: bool = False,
    is_bot: bool = False,
    is_own: bool = False,
    is_file_share: bool = False,
    files: tuple[Attachment, ...] = (),
) -> Received:
    """A message; it mentions us if its text does."""
    return Received(
        event_id=event_id,
        thread=where or thread(),
        sender_id=sender,
        text=text,
        at_ms=at_ms,
        is_mention=US in text,
        is_in_thread=is_in_thread,
        is_bot=is_bot,
        is_own=is_own,
        is_file_share=is_file_share,
        mention=US,
        attachments=files,
    )


@dataclass(slots=True)
class Session:
    """What a session got."""

    audience: Audience
    cursor: str = ""
    inputs: dict[str, pb.SendUserMessageRequest] = field(default_factory=dict)


class Daemon(DaemonNotAsked):
    """Implements `parts.Link` as far as ingress asks."""

    def __init__(self) -> None:
        self.sessions: dict[str, Session] = {}
        self.order: list[tuple[str, str]] = []
        """Admissions: session and source id."""
        self.inbox: dict[str, bytes] = {}
        self.before: deque[NetclawError | None] = deque()
        """What the next sends fail with, before anything is stored; None: they do not."""
        self.after: deque[NetclawError | None] = deque()
        """The same, when it is stored."""
        self.upload_failures: deque[NetclawError] = deque()
        self.notice = ""
        self.calls: list[str] = []

    async def ensure_session(self, request: pb.EnsureSessionRequest) -> pb.EnsureSessionResponse:
        """See `Link`."""
        self.calls.append("ensure")
        await asyncio.sleep(0)
        session = self.sessions.get(request.session_id)
        if session is None and request.must_exist:
            raise NotFoundError("There is no such session.")
        sender = Audience(request.sender.audience or "Personal")
        is_new = session is None
        if session is None:
            session = self.sessions[request.session_id] = Session(sender)
        return pb.EnsureSessionResponse(
            session_id=request.session_id,
            created=is_new,
            audience=narrower(session.audience, sender),
            thread_cursor=session.cursor,
        )

    async def send_user_message(
        self, request: pb.SendUserMessageRequest
    ) -> pb.SendUserMessageResponse:
        """See `Link`."""
        self.calls.append("send")
        await asyncio.sleep(0)
        if self.before and (failure := self.before.popleft()) is not None:
            raise failure
        answer = self._admit(request)
        if self.after and (failure := self.after.popleft()) is not None:
            raise failure
        return answer

    def _admit(self, request: pb.SendUserMessageRequest) -> pb.SendUserMessageResponse:
        session = self.sessions.get(request.session_id)
        if session is None:
            if not request.create:
                raise NotFoundError("There is no such session.")
            session = self.sessions[request.session_id] = Session(Audience(request.sender.audience))
        known = session.inputs.get(request.source_message_id)
        if known is not None:
            if known.text != request.text:
                raise InvalidArgumentError("Another message has this id.")
            return pb.SendUserMessageResponse(duplicate=True, notice=self.notice)
        kept = pb.SendUserMessageRequest()
        kept.CopyFrom(request)
        session.inputs[request.source_message_id] = kept
        session.cursor = request.thread_cursor or session.cursor
        self.order.append((request.session_id, request.source_message_id))
        return pb.SendUserMessageResponse(input_id="i", seq=1, notice=self.notice)

    async def find_input(self, request: pb.FindInputRequest) -> pb.SendUserMessageResponse:
        """See `Link`."""
        self.calls.append("find")
        await asyncio.sleep(0)
        session = self.sessions.get(request.session_id)
        if session is None or request.source_message_id not in session.inputs:
            raise NotFoundError("It was never admitted.")
        return pb.SendUserMessageResponse(duplicate=True)

    async def put_into_inbox(
        self, session_id: str, path: Path, *, name: str, media_type: str
    ) -> pb.UploadResponse:
        """See `Link`."""
        if self.upload_failures:
            raise self.upload_failures.popleft()
        if session_id not in self.sessions:
            raise NotFoundError("There is no such session.")
        data = await asyncio.to_thread(path.read_bytes)
        self.inbox[f"{session_id}:{name}"] = data
        media = common_pb2.MediaRef(
            upload_id=f"up-{name}", media_type=media_type, size_bytes=len(data), name=name
        )
        return pb.UploadResponse(media=media, path=f"/s/workspace/inbox/{name}")

    def texts(self, address: str = "C1/1") -> list[str]:
        """What a session was told, in order."""
        return [self.input(event).text for where, event in self.order if where == address]

    def input(self, event_id: str) -> pb.SendUserMessageRequest:
        """An admitted message."""
        (found,) = [s.inputs[event_id] for s in self.sessions.values() if event_id in s.inputs]
        return found


class Platform(PlatformNotAsked):
    """Implements `Driver` as far as ingress asks."""

    def __init__(self) -> None:
        self.abilities = Abilities(
            text_limit=4000, has_buttons=True, has_edit=True, has_status=False
        )
        self.state = Health.READY
        self.posts: list[Post] = []
        self.post_failures: deque[Exception] = deque()
        self.history: dict[str, list[Received]] = {}
        self.backfill_failures: deque[Exception] = deque()
        self.backfills: list[tuple[str, str]] = []
        self.contents: dict[str, bytes] = {}
        self.download_failures: deque[Exception] = deque()
        self.is_silent = False
        """Whether calls get no answer."""
        self.downloads: list[str] = []

    def file(self, name: str, data: bytes, *, size: int | None = None) -> Attachment:
        """A file that can be fetched; `size` is what the platform says of it."""
        handle = f"h{len(self.contents)}"
        self.contents[handle] = data
        return Attachment(
            handle=handle,
            name=name,
            media_type="application/octet-stream",
            size_bytes=len(data) if size is None else size,
        )

    def health(self) -> Health:
        """See `Driver`."""
        return self.state

    async def _answered(self) -> None:
        if self.is_silent:
            await asyncio.Event().wait()

    async def post(self, post: Post) -> str:
        """See `Driver`."""
        await self._answered()
        if self.post_failures:
            raise self.post_failures.popleft()
        self.posts.append(post)
        return f"p{len(self.posts)}"

    async def backfill(self, thread: Thread, *, after: str, limit: int) -> tuple[Received, ...]:
        """See `Driver`."""
        await self._answered()
        self.backfills.append((thread.address, after))
        await asyncio.sleep(0)
        if self.backfill_failures:
            raise self.backfill_failures.popleft()
        found = self.history.get(thread.address, [])
        ids = [received.event_id for received in found]
        first = ids.index(after) + 1 if after in ids else 0
        return tuple(found[first:][:limit])

    async def download(self, attachment: Attachment, target: Path, limit_bytes: int) -> None:
        """See `Driver`."""
        await self._answered()
        self.downloads.append(attachment.name)
        if self.download_failures:
            raise self.download_failures.popleft()
        data = self.contents[attachment.handle]
        if len(data) > limit_bytes:
            raise RefusedFailure("The file is larger than it was said to be.")
        await asyncio.to_thread(target.write_bytes, data)


class Ingress:
    """A pipeline between a daemon and a platform; `restart` makes another process of it."""

    def __init__(
        self,
        staging: Path,
        config: ChannelConfig = CONFIG,
        *,
        daemon: Daemon | None = None,
        platform: Platform | None = None,
        scanners: tuple[Scanner, ...] | None = None,
    ) -> None:
        self.daemon = daemon or Daemon()
        self.platform = platform or Platform()
        self.staging = staging
        self.config = config
        self.scanners = scanners
        self.letters: set[str] = set()
        self.letter_faults: deque[Exception] = deque()
        self.acknowledged: list[str] = []
        self.acknowledge_failures: deque[DriverFailure] = deque()
        self.failures: list[str] = []
        self.starts = 0
        self.restart()

    def restart(self) -> None:
        """Nothing is remembered but what the daemon keeps."""
        self.starts += 1
        self.gate, self.counters = Gate(), Counters()
        context = HostContext(
            config=self.config,
            driver=self.platform,
            link=self.daemon,
            adapter_start=f"start{self.starts}",
            gate=self.gate,
            counters=self.counters,
            staging=self.staging,
            report_failure=self.failures.append,
        )
        patience = Patience(self.gate, context.report_failure, first_s=0.0)
        self.pipeline = Pipeline(
            context,
            self._take_letter,
            patience=patience,
            files=Files(context, patience, scanners=self.scanners, pause_s=0.0),
            backfill=Backfill(context, pause_s=0.0),
        )

    async def _take_letter(self, received: Received) -> bool:
        if self.letter_faults:
            raise self.letter_faults.popleft()
        return received.text in self.letters

    async def take(self, *events: Received) -> None:
        """One event after another, as the host does for one thread."""
        for received in events:
            await self.pipeline.take(self.incoming(received))

    def incoming(self, received: Received) -> Incoming:
        """An event whose acknowledgement is noted."""

        async def acknowledge() -> None:
            if self.acknowledge_failures:
                raise self.acknowledge_failures.popleft()
            self.acknowledged.append(received.event_id)

        return Incoming(event=received, acknowledge=acknowledge)

    @property
    def told(self) -> list[str]:
        """What people were told."""
        return [post.text for post in self.platform.posts]
