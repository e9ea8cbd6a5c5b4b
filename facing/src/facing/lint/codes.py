"""---
title: What lint looks for
summary: Every code with its severity and its meaning. Codes never change their meaning.
---
An *error* breaks the page, loses content or brings in something that the source does not have: such an entry is never
rendered. A *warning* is a fault of language or form that a reader would notice. An *info* is worth a look.
"""

from __future__ import annotations

from facing.model import Severity

CODES: dict[str, tuple[Severity, str]] = {
    # The catalogue as a file.
    "catalogue-unreadable": ("error", "The file is missing, too large, not UTF-8, not JSON, or not one flat object."),
    "value-type": ("error", "The value of an entry is not a string."),
    "key-duplicate": ("error", "The same key stands twice in a catalogue; which of the two counts is chance."),
    "character-invalid": (
        "error",
        "A control character, half a surrogate pair or a direction override stands in the text.",
    ),
    # The tree of an entry.
    "tag-broken": ("error", "A `<` starts no whole tag."),
    "tag-stray": ("error", "A closing tag has no opening tag."),
    "tag-unclosed": ("error", "A tag is never closed."),
    "tag-misnested": ("error", "A tag closes while another one inside it is still open."),
    "tag-deep": ("error", "Tags are nested deeper than any note needs."),
    "tag-disallowed": ("error", "A tag is neither in the source note nor plain emphasis."),
    "attribute-disallowed": ("error", "An attribute is not that of a tag of the source note."),
    "link-in-link": ("error", "A link stands inside another link."),
    "link-lost": ("error", "A link of the source note is missing."),
    "link-new": ("error", "A link leads where no link of the source note leads, or stands there more often."),
    "anchor-lost": ("error", "An anchor of the source note is missing, so that links to it would lead nowhere."),
    "anchor-new": ("error", "An anchor is not in the source note."),
    "blocks-changed": (
        "error",
        "The sequence of headings, paragraphs, lists and items is not that of the source note.",
    ),
    "text-outside": ("error", "Text stands outside every block."),
    "text-lost": ("error", "The source note has words, the translation has none."),
    "block-empty": ("warning", "A block has words in the source note and none in the translation."),
    # Placeholders.
    "placeholder-lost": ("error", "A placeholder of the source note is missing."),
    "placeholder-duplicated": ("error", "A placeholder stands more often than in the source note."),
    "placeholder-invented": ("error", "A placeholder has a number that the source note does not have."),
    "placeholder-damaged": ("error", "Something looks like a placeholder and is none, such as `_%5e_3_%5e_`."),
    "placeholder-moved": ("error", "A placeholder stands in another block than in the source note."),
    # Wording, for every language.
    "untranslated": ("warning", "The translation is the source text."),
    "leftover": ("warning", "Words of the source language were left in the translation."),
    "debris": ("warning", "A piece of a source word, or a mark of a translation machine, was left in the translation."),
    "word-cut": ("warning", "Markup cuts a word in two."),
    "blank-lost": ("info", "A word touches a link, an emphasis or a placeholder that stands apart in the source note."),
    "trailing-blank": ("warning", "A block ends with a blank where the source block does not."),
    "number-lost": ("warning", "A number of the source note is missing."),
    "length": ("warning", "The translation is far longer or shorter than a translation into this language usually is."),
    "inconsistent": ("info", "The same source text is translated differently elsewhere."),
    "glossary": ("warning", "A term of the glossary is not translated as the glossary says."),
    # Single languages.
    "joiner-lost": ("warning", "Sinhala: the zero-width joiner after U+0DCA is missing, and a conjunct falls apart."),
    "first-word-glued": ("warning", "The first word of a block is joined to the second."),
    "blank-inside": ("warning", "Japanese, Chinese: a blank stands between two characters."),
    # The catalogue beside its source.
    "missing": ("info", "A unit of the page has no entry, or an empty one."),
    "obsolete": ("info", "An entry has no unit in the page any more."),
    "state-unreadable": ("warning", "The state file beside a catalogue is damaged and counts as empty."),
}


def severity(code: str) -> Severity:
    """Give the severity of a code."""
    return CODES[code][0]
