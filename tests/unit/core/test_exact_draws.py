from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from tacit.core.exact_draws import BLOCK, Draws, entropy, keyed_source, source_of

FALSE_ALARM = 1e-6  # of each statistical assertion
PAIRS = 256 * 256

Distribution = Sequence[Fraction]


class Pairs:
    """Every pair of two digits once: first all first digits, then the seconds of those tied."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, n: int) -> npt.NDArray[np.uint8]:
        self.calls += 1
        all_digits = np.arange(256, dtype=np.uint8)
        if self.calls == 1:
            return np.repeat(all_digits, n // 256)
        assert self.calls == 2, "a threshold of two digits was asked for a third"
        return np.tile(all_digits, n // 256)


class Script:
    """The digits given, one after the other."""

    def __init__(self, *digits: int) -> None:
        self.left = list(digits)

    def __call__(self, n: int) -> npt.NDArray[np.uint8]:
        assert len(self.left) >= n, "more digits were asked for than are needed"
        given, self.left = self.left[:n], self.left[n:]
        return np.array(given, dtype=np.uint8)


def of_pairs(*shares: int) -> list[Fraction]:
    return [Fraction(share, PAIRS) for share in (*shares, PAIRS - sum(shares))]


@pytest.mark.parametrize(
    "distribution",
    [
        of_pairs(1),
        of_pairs(12345),
        of_pairs(PAIRS - 1),
        of_pairs(PAIRS // 2),
        of_pairs(0),
        of_pairs(PAIRS),
        of_pairs(1, 2, 3),
        of_pairs(0, 30000, 0, 0, 777, 0),
        of_pairs(20000, 0, 0),
        of_pairs(*[1] * 300),
        of_pairs(*[219] * 299),
    ],
    ids=lambda d: f"{len(d)}-categories-from-{d[0].numerator}/{d[0].denominator}",
)
def test_over_all_pairs_of_digits_each_category_comes_up_exactly_as_often_as_it_should(
    distribution: Distribution,
) -> None:
    drawn = Draws([distribution]).draw(None, PAIRS, Pairs())
    expected = [int(p * PAIRS) for p in distribution]
    assert np.bincount(drawn, minlength=len(distribution)).tolist() == expected


def test_over_all_pairs_of_digits_every_one_of_several_distributions_is_exact() -> None:
    distributions = [of_pairs(1, 700), of_pairs(0, PAIRS), of_pairs(40000, 20000)]
    for number, distribution in enumerate(distributions):
        which = np.full(PAIRS, number, dtype=np.uint8)
        drawn = Draws(distributions).draw(which, PAIRS, Pairs())
        expected = [int(p * PAIRS) for p in distribution]
        assert np.bincount(drawn, minlength=3).tolist() == expected


@pytest.mark.parametrize(("last", "category"), [(0x54, 0), (0x56, 1), (0x00, 0), (0xFF, 1)])
def test_a_draw_tied_with_an_endless_threshold_takes_digits_until_they_differ(
    last: int, category: int
) -> None:
    source = Script(*[0x55] * 9, last)  # 1/3 = 0.555... in base 256, each digit 0x55
    assert Draws([[Fraction(1, 3), Fraction(2, 3)]]).draw(None, 1, source).tolist() == [category]
    assert source.left == []


def test_a_draw_that_equals_a_threshold_without_further_digits_is_decided_at_once() -> None:
    half = [[Fraction(1, 2), Fraction(1, 2)]]
    assert Draws(half).draw(None, 3, Script(127, 128, 129)).tolist() == [0, 1, 1]


def test_only_tied_draws_are_given_further_digits() -> None:
    distribution = [Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)]  # 0.555..., 0.AAA...
    source = Script(0x55, 0x00, 0xAA, 0xFF, 0xAA, 0x56, 0xA9, 0xAA, 0xAB)
    assert Draws([distribution]).draw(None, 5, source).tolist() == [1, 0, 1, 2, 2]
    assert source.left == []


def test_a_probability_far_below_one_digit_is_kept_exactly() -> None:
    tiny = Fraction(1, 256**12)
    assert Draws([[tiny, 1 - tiny]]).draw(None, 1, Script(*[0] * 12)).tolist() == [0]
    assert Draws([[tiny, 1 - tiny]]).draw(None, 1, Script(*[0] * 11, 1)).tolist() == [1]


def test_prepared_distributions_can_be_drawn_from_again_and_again() -> None:
    draws = Draws([[Fraction(1, 3), Fraction(2, 3)]])
    assert draws.draw(None, 2, Script(0x00, 0x55, 0x55, 0x60)).tolist() == [0, 1]
    assert draws.draw(None, 1, Script(0x55, 0x55, 0x55, 0x50)).tolist() == [0]


@pytest.mark.parametrize(("n_categories", "dtype"), [(2, "u1"), (256, "u1"), (257, "u2")])
def test_the_result_has_the_smallest_unsigned_type(n_categories: int, dtype: str) -> None:
    uniform = [Fraction(1, n_categories)] * n_categories
    assert Draws([uniform]).draw(None, 10, source_of(np.random.default_rng(1))).dtype == dtype


@pytest.mark.slow
def test_more_than_65536_categories_can_be_drawn() -> None:
    n_categories = PAIRS + 1
    uniform = [Fraction(1, n_categories)] * n_categories
    drawn = Draws([uniform]).draw(None, 1, Script(*[0xFF] * 3))
    assert drawn.dtype == np.uint32
    assert drawn.tolist() == [PAIRS]


def test_no_draws_need_no_digits() -> None:
    assert Draws([[Fraction(1, 3), Fraction(2, 3)]]).draw(None, 0, Script()).shape == (0,)
    assert Draws([[Fraction(1)]]).draw(np.array([], dtype=np.uint8), 0, Script()).shape == (0,)


def test_a_distribution_of_one_category_gives_that_category() -> None:
    assert Draws([[Fraction(1)]]).draw(None, 3, Script(0, 128, 255)).tolist() == [0, 0, 0]


def test_categories_of_probability_zero_are_never_drawn() -> None:
    zero = Fraction(0)
    distribution = [zero, Fraction(1, 3), zero, Fraction(2, 3), zero]
    drawn = Draws([distribution]).draw(None, 100_000, source_of(np.random.default_rng(2)))
    assert set(drawn.tolist()) == {1, 3}


def test_the_same_seed_gives_the_same_draws() -> None:
    distribution = [Fraction(1, 7), Fraction(6, 7)]
    first, second = (
        Draws([distribution]).draw(None, 1000, source_of(np.random.default_rng(3)))
        for _ in range(2)
    )
    assert first.tolist() == second.tolist()


def test_no_generator_means_the_entropy_of_the_operating_system() -> None:
    assert source_of(None) is entropy
    assert source_of(np.random.default_rng(4)) is not entropy


@pytest.mark.parametrize("rng", [None, np.random.default_rng(5)], ids=["entropy", "simulated"])
@pytest.mark.parametrize("n", [0, 1, 7, 8, 1001])
def test_a_source_gives_as_many_bytes_as_asked_for(n: int, rng: np.random.Generator | None) -> None:
    digits = source_of(rng)(n)
    assert digits.shape == (n,)
    assert digits.dtype == np.uint8


SIXTHS = [Fraction(1, 6), Fraction(3, 6), Fraction(2, 6)]
DISTRIBUTIONS = {
    "coin": [Fraction(3, 10), Fraction(7, 10)],
    "sixths": SIXTHS,
    "many": [Fraction(1, 300)] * 300,
    "inside one digit": [Fraction(1, 1000)] * 5 + [Fraction(995, 1000)],
}


def _p_value(drawn: npt.NDArray[np.integer], distribution: Distribution) -> float:
    """Of Pearson's chi-square; every category is expected at least 100 times."""
    counts = np.bincount(drawn, minlength=len(distribution))
    expected = np.array([float(p) * len(drawn) for p in distribution])
    assert expected.min() >= 100
    return float(stats.chisquare(counts, expected).pvalue)


@pytest.mark.parametrize("real", [False, True], ids=["simulated", "entropy"])
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_frequencies_are_those_of_the_distribution(name: str, real: bool) -> None:
    distribution = DISTRIBUTIONS[name]
    source = source_of(None if real else np.random.default_rng(6))
    drawn = Draws([distribution]).draw(None, BLOCK + 100_000, source)
    assert _p_value(drawn, distribution) > FALSE_ALARM


@pytest.mark.parametrize("real", [False, True], ids=["simulated", "entropy"])
def test_frequencies_are_those_of_the_distribution_chosen_for_each_draw(real: bool) -> None:
    n = BLOCK + 100_000
    distributions = [SIXTHS, SIXTHS[::-1], [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)]]
    which = np.random.default_rng(7).integers(0, 3, n)
    source = source_of(None if real else np.random.default_rng(8))
    drawn = Draws(distributions).draw(which, n, source)
    for number, distribution in enumerate(distributions):
        assert _p_value(drawn[which == number], distribution) > FALSE_ALARM


def test_neighbouring_draws_are_independent() -> None:
    drawn = Draws([SIXTHS]).draw(None, 400_000, source_of(np.random.default_rng(9))).astype(int)
    pairs = 3 * drawn[::2] + drawn[1::2]
    assert _p_value(pairs, [p * q for p in SIXTHS for q in SIXTHS]) > FALSE_ALARM


def test_the_test_of_frequencies_finds_a_wrong_distribution() -> None:
    rounded = [Fraction(round(256 * p), 256) for p in SIXTHS[:2]]
    rounded.append(1 - sum(rounded))
    drawn = Draws([rounded]).draw(None, 4_000_000, source_of(np.random.default_rng(10)))
    assert _p_value(drawn, SIXTHS) < FALSE_ALARM


def test_each_place_of_a_key_has_digits_of_its_own() -> None:
    """Partitions with the same digits would turn the answers of the same records."""
    one, other, again = (keyed_source(bytes(32), place) for place in (0, 1, 0))
    digits = one(1000)
    np.testing.assert_array_equal(digits, again(1000))
    for others in (other(1000), one(1000)):
        assert np.mean(digits == others) < 0.05
