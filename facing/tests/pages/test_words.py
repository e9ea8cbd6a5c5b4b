"""The words of the page are known in the languages that the project's own pages have."""

import pytest

from facing.pages.words import ENGLISH, WORDS


@pytest.mark.parametrize("language", ["ja", "si", "zh"])
def test_a_page_says_everything_in_its_own_language(language: str) -> None:
    assert set(WORDS[language]) == set(ENGLISH)
    assert not set(WORDS[language].values()) & set(ENGLISH.values())


@pytest.mark.parametrize("language", ["ja", "si", "zh"])
def test_counts_stand_in_every_language(language: str) -> None:
    for name in ("{all}", "{done}", "{percent}"):
        assert name in WORDS[language]["coverage"]
