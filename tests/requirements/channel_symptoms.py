"""What went wrong with channels elsewhere: what shows that it does not here.

The numbers are those of the surface reference's list (section 10).
"""

from __future__ import annotations

from tests.requirements.manifest import Promise, Requirement, promised

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "repo.channel-symptoms",
        "issue 7, must be shown",
        "Every symptom of the surface reference's list that concerns channels is shown not to"
        " happen.",
    ),
    Requirement(
        "channel_symptoms.no-warning",
        "reference surface 10, symptom 2",
        "A thread is told a reply and nothing behind it, or once that none came, with a category.",
    ),
    Requirement(
        "channel_symptoms.edit-in-mid-turn",
        "reference surface 10, symptom 14",
        "A change of a channel's section restarts its adapter and no session at work: the answer"
        " comes by the new adapter, once.",
    ),
    Requirement(
        "channel_symptoms.consent-and-drain",
        "reference surface 10, symptom 15",
        "A daemon stops without waiting for a person who is asked, and the prompt works after it.",
    ),
    Requirement(
        "channel_symptoms.restart-in-a-thread",
        "reference surface 10, symptom 21",
        "A thread whose turn runs when the daemon restarts has its answer without being asked"
        " again.",
    ),
)

CONCERN_CHANNELS = frozenset(
    {1, 2, 3, 5, 6, 8, 9, 10, 11, 13, 14, 15, 16, 17, 19, 21, 22, 34, 43, 44}
)
"""The rows of the list that people in a channel would see. The others are of the command line (18),
reminders (24-32), the store (35), compaction (37), memory (38-41) and models (45)."""

SYMPTOMS: dict[int, Promise] = {
    1: promised(
        "symptom 1",
        "No session only buffers: each admitted message is answered, whoever is killed.",
        "channels.torture",
        "channel_host.conversation",
    ),
    2: promised(
        "symptom 2",
        "No warning follows a useful reply, and every failure has a category.",
        "channel_symptoms.no-warning",
        "core.turn-failed",
        "core.empty-reply",
    ),
    3: promised(
        "symptom 3",
        "No text is posted twice.",
        "channels.outbox-once",
        "channels_slack.once",
        "channels_discord.once",
        "channels_mattermost.failures",
        "channels.torture",
    ),
    5: promised(
        "symptom 5",
        "After an answer the thread goes on at once.",
        "channel_host.conversation",
        "channels_slack.threads",
        "channels_mattermost.threads",
        "channels.outbox-order",
    ),
    6: promised(
        "symptom 6",
        "Of two quick messages in a new thread neither is lost.",
        "channels.order",
        "channel_host.order",
    ),
    8: promised(
        "symptom 8",
        "A thread has the same session after every restart.",
        "channels.create",
        "channel_host.conversation",
    ),
    9: promised(
        "symptom 9",
        "No message of another thread turns an answer away from its own.",
        "channels.torture",
        "channels_slack.threads",
        "channel_host.conversation",
    ),
    10: promised(
        "symptom 10",
        "A mention in the middle of a thread knows what was said before.",
        "channels.backfill",
        "channel_sends.backfill",
    ),
    11: promised(
        "symptom 11",
        "A later mention knows what was said since, and nothing twice.",
        "channels.backfill",
        "channels.cursor",
    ),
    13: promised(
        "symptom 13",
        "Files of a thread come along, a hostile name is a line of text, and no exception reaches"
        " a person.",
        "channels.inbox",
        "channels.files",
        "channels.file-texts",
        "channels.backfill",
    ),
    14: promised(
        "symptom 14",
        "A change of the configuration ends no turn that is under way.",
        "channel_symptoms.edit-in-mid-turn",
        "channel_host.reload",
        "upstream.edit-in-mid-turn",
    ),
    15: promised(
        "symptom 15",
        "A consent that is waited for holds up no drain.",
        "channel_symptoms.consent-and-drain",
        "judging.processes",
        "channels.prompt-restart",
    ),
    16: promised(
        "symptom 16",
        "A stop leaves no turn behind that nobody goes on with.",
        "channel_host.drain",
        "channels.drain-gate",
        "channel_symptoms.restart-in-a-thread",
        "upstream.rows-after-kill",
    ),
    17: promised(
        "symptom 17",
        "No message is acknowledged before it is stored.",
        "channels.acknowledge",
        "channels_slack.acknowledge",
    ),
    19: promised(
        "symptom 19",
        "What is admitted while the daemon drains runs after its start.",
        "supervisor.drain",
        "channels.drain-gate",
    ),
    21: promised(
        "symptom 21",
        "A restart in the middle of a thread's turn leaves no thread behind.",
        "channel_symptoms.restart-in-a-thread",
        "restart.twice",
        "restart.warm-and-cold",
    ),
    22: promised(
        "symptom 22",
        "A process that dies before its turn's end leaves nobody waiting.",
        "channels.torture",
        "channel_host.restart",
    ),
    34: promised(
        "symptom 34",
        "A redelivery is known after a restart and in every process.",
        "channels.dedupe",
        "channels.torture",
    ),
    43: promised(
        "symptom 43",
        "A forged press uses no token up.",
        "channels.prompt-token",
        "channels.prompt-stale",
        "channels_mattermost.forged",
    ),
    44: promised(
        "symptom 44",
        "A press at Discord is acknowledged in time whatever the host does.",
        "channels_discord.press",
    ),
}
