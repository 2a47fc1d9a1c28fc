"""What could not be computed or taken of the events of a task, and stops nobody."""


class LeftOut(dict[str, tuple[int, str]]):
    """By lane, filter or query: how many values were left out, and why one of them was."""

    def note(self, whose: str, count: int, why: str) -> None:
        """The first reason stays."""
        if count:
            known, first = self.get(whose, (0, why))
            self[whose] = (known + count, first)

    def add(self, others: dict[str, tuple[int, str]]) -> None:
        for whose, (count, why) in others.items():
            self.note(whose, count, why)
