"""Makes the parts of one adapter process, in the order in which they need each other."""

from __future__ import annotations

from netclaw.adapters.ingress import Pipeline
from netclaw.adapters.live_edit import LiveEdits, is_wanted
from netclaw.adapters.outbound import Deliveries
from netclaw.adapters.parts import HostContext, Parts
from netclaw.adapters.progress import Signs
from netclaw.adapters.prompts import ConsentPrompts


def assemble(context: HostContext) -> Parts:
    """The parts of this process."""
    has_live = context.driver.abilities.has_edit and is_wanted(context.config)
    has_left = context.driver.abilities.has_edit and bool(context.unfinished.lives())
    live = LiveEdits(context, follows=has_live) if has_live or has_left else None
    signs = Signs(context, live=live)
    prompts = ConsentPrompts(context, on_closed=signs.renew)
    return Parts(
        ingress=Pipeline(context, prompts.take_letter),
        outbound=Deliveries(context, live=live),
        prompts=prompts,
        progress=signs,
    )
