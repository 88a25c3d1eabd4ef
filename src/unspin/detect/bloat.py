"""The context fills up."""

from __future__ import annotations

from unspin.detect.detection import Detection, Detector
from unspin.events import AGENT, Compaction, ContextSize
from unspin.facts.step import Round

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unspin.detect.detection import Noticed


class Bloat(Detector):
    """Fires when a compaction is about to run (hard), or context or tool output is over its limit (soft).

    Soft: tokens in the context reach ``bloat.context_tokens`` (400,000) or
    ``bloat.context_share`` (0.75) of the model's window where that is known, or the tool
    output since the last compaction reaches ``bloat.tool_output_kb`` (1,000 kB). Each of
    the signals once, armed again by a compaction. What subagents read is no bloat.

    State: ``output``, bytes since the last compaction; ``said``, signals given since;
    ``index`` of the last event seen.
    """

    rule = "bloat"
    loop = False
    keys = {
        "bloat.enabled": ("flag", True, "notice a context that fills up"),
        "bloat.context_tokens": ("count", 400_000, "tokens in the context"),
        "bloat.context_share": ("share", 0.75, "share of the model's window, where it is known"),
        "bloat.tool_output_kb": ("count", 1000, "kB of tool output since the last compaction"),
    }

    def initial(self) -> dict[str, Any]:
        return {"output": 0, "said": [], "compactions": 0, "index": 0}

    def observe(self, event: Noticed) -> list[Detection]:
        if isinstance(event, Compaction):
            return self._compaction(event)
        if isinstance(event, ContextSize):
            return self._context(event)
        if isinstance(event, Round) and not event.agent:
            for step in event.steps:
                self.state["index"] = step.index
                self.state["output"] += 0 if step.action == AGENT else step.size
            limit = self.settings["bloat.tool_output_kb"]
            if limit and self.state["output"] >= limit * 1000:
                return self._signal("tool_output", self.state["output"])
        return []

    def _compaction(self, event: Compaction) -> list[Detection]:
        if event.done:
            self.state["output"] = 0
            self.state["said"] = []
            self.state["compactions"] += 1
            return []
        return self._signal("compaction", self.state["compactions"] + 1)

    def _context(self, event: ContextSize) -> list[Detection]:
        limits = []
        if self.settings["bloat.context_tokens"]:
            limits.append(self.settings["bloat.context_tokens"])
        if self.settings["bloat.context_share"] and event.window:
            limits.append(self.settings["bloat.context_share"] * event.window)
        if limits and event.tokens >= min(limits):
            return self._signal("context", event.tokens)
        return []

    def _signal(self, signal: str, size: int) -> list[Detection]:
        if signal in self.state["said"]:
            return []
        self.state["said"].append(signal)
        subject = f"{signal} {self.state['compactions']}"
        note = {"event_index": self.state["index"], "tool": "", "file": "", "excerpt": f"{signal}: {size}"}
        return [Detection(self.rule, subject, size, [note], details={"signal": signal, "size": size})]
