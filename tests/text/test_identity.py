"""What is remembered by the identity of a value."""

from __future__ import annotations

from gitfed.text.identity import IdentityMemo


def test_it_is_worked_out_once_for_each_object_and_not_for_equal_ones() -> None:
    asked: list[list[int]] = []

    def total(numbers: list[int]) -> int:
        asked.append(numbers)
        return sum(numbers)

    memo, first, equal = IdentityMemo(total), [1, 2], [1, 2]
    assert [memo(first), memo(first), memo(equal), memo(first)] == [3, 3, 3, 3]
    assert [one is first for one in asked] == [True, False]


def test_an_identity_is_not_given_to_another_value_while_it_is_known() -> None:
    memo = IdentityMemo[list[int], int](sum)
    assert [memo([number]) for number in range(1_000)] == list(range(1_000))


def test_a_bound_holds_and_what_was_forgotten_is_worked_out_again() -> None:
    asked: list[str] = []
    memo = IdentityMemo[str, None](asked.append, most=2)
    values = ["a", "b", "c"]
    for value in [*values, values[2], values[0]]:
        memo(value)
    assert asked == ["a", "b", "c", "a"]
    memo.clear()
    memo(values[0])
    assert asked[-2:] == ["a", "a"]
