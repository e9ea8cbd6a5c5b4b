"""Catalogues: translations of notes, kept as flat JSON beside the sources."""

from facing.catalogue.translator import CatalogueTranslator as CatalogueTranslator
from facing.catalogue.translator import open_translator as open_translator
