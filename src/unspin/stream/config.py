"""The stream guard's settings, checked."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StreamConfig:
    """How a ``StreamGuard`` judges.

    Attributes:
        enabled: ``False`` switches the guard off: a delta then costs one look at an attribute.
        content: how loosely the answer's text is judged: repeats and characters of every limit are multiplied by
            it. 1 or more; ``False`` does not listen to this channel.
        reasoning: the same for reasoning: only what is egregious trips.
        tool_arguments: the same for arguments of tool calls, where no loop that drifts is looked for.
        drift: whether loops without a fixed period are looked for.
        expected_repetition: what the person asked for. A text: it may repeat without end, with numbers and marks of any
            kind between. A number: no loop trips before it is that many characters long. ``True``: nothing trips.

    Raises:
        ValueError: a value that is none of these; the message says what was given and what is expected.
    """

    enabled: bool = True
    content: float | bool = 1.0
    reasoning: float | bool = 3.0
    tool_arguments: float | bool = 4.0
    drift: bool = True
    expected_repetition: bool | int | str = False

    def __post_init__(self) -> None:
        for name in ("enabled", "drift"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} is {getattr(self, name)!r}; expected True or False")
        for name in ("content", "reasoning", "tool_arguments"):
            value = getattr(self, name)
            if value is False:
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 1 <= value <= 1_000:
                raise ValueError(
                    f"{name} is {value!r}; expected a number from 1 (as strict as it gets) to 1000, "
                    "or False to leave this channel out"
                )
        asked = self.expected_repetition
        if isinstance(asked, str):
            if not asked.strip():
                raise ValueError("expected_repetition is an empty text; expected the text that may repeat, or False")
        elif not isinstance(asked, int) or asked < 0 or (asked == 0 and asked is not False):
            raise ValueError(
                f"expected_repetition is {asked!r}; expected the text that may repeat, "
                "a number of characters of 1 or more, True, or False"
            )
