"""---
title: The words of the page
summary: What the page itself says, in the languages that it knows; others see English, marked as English.
---
"""

from __future__ import annotations

ENGLISH = {
    "skip": "Skip to the page",
    "menu": "Contents",
    "on_page": "On this page",
    "pages": "Pages",
    "reading": "Start here",
    "breadcrumbs": "You are here",
    "languages": "Language",
    "previous": "Previous",
    "next": "Next",
    "neighbours": "Previous and next page",
    "source": "View source",
    "colab": "Open in Colab",
    "copy": "Copy",
    "copied": "Copied",
    "home": "Start",
    "untranslated": "Not translated yet",
    "coverage": "Translated: {done} of {all} notes ({percent} %).",
    "rest": "The others stand in the source language.",
    "code": "Code",
    "output": "Output",
    "reference": "Reference",
    "search": "Search",
    "found": "Found: {count}",
    "nothing": "Nothing found",
    "permalink": "Link to this place",
    "built": "Built with facing",
}

WORDS: dict[str, dict[str, str]] = {
    "en": ENGLISH,
    "de": {
        "skip": "Zum Inhalt springen",
        "menu": "Inhalt",
        "on_page": "Auf dieser Seite",
        "pages": "Seiten",
        "reading": "Hier beginnen",
        "breadcrumbs": "Sie sind hier",
        "languages": "Sprache",
        "previous": "Zurück",
        "next": "Weiter",
        "neighbours": "Vorige und nächste Seite",
        "source": "Quelltext ansehen",
        "colab": "In Colab öffnen",
        "copy": "Kopieren",
        "copied": "Kopiert",
        "home": "Start",
        "untranslated": "Noch nicht übersetzt",
        "coverage": "Übersetzt: {done} von {all} Notizen ({percent} %).",
        "rest": "Die übrigen stehen in der Originalsprache.",
        "code": "Code",
        "output": "Ausgabe",
        "reference": "Referenz",
        "search": "Suchen",
        "found": "Gefunden: {count}",
        "nothing": "Nichts gefunden",
        "permalink": "Link zu dieser Stelle",
        "built": "Erstellt mit facing",
    },
    "ja": {
        "skip": "本文へ移動",
        "menu": "目次",
        "on_page": "このページの内容",
        "pages": "ページ一覧",
        "reading": "はじめに読むページ",
        "breadcrumbs": "現在位置",
        "languages": "言語",
        "previous": "前へ",
        "next": "次へ",
        "neighbours": "前後のページ",
        "source": "ソースを表示",
        "colab": "Colab で開く",
        "copy": "コピー",
        "copied": "コピーしました",
        "home": "ホーム",
        "untranslated": "未翻訳",
        "coverage": "翻訳済み：{all} 件中 {done} 件（{percent} %）。",
        "rest": "残りは原文で表示しています。",
        "code": "コード",
        "output": "出力",
        "reference": "リファレンス",
        "search": "検索",
        "found": "{count} 件",
        "nothing": "見つかりませんでした",
        "permalink": "この箇所へのリンク",
        "built": "facing で作成",
    },
    "zh": {
        "skip": "跳到正文",
        "menu": "目录",
        "on_page": "本页内容",
        "pages": "页面",
        "reading": "从这里开始",
        "breadcrumbs": "当前位置",
        "languages": "语言",
        "previous": "上一页",
        "next": "下一页",
        "neighbours": "上一页和下一页",
        "source": "查看源码",
        "colab": "在 Colab 中打开",
        "copy": "复制",
        "copied": "已复制",
        "home": "首页",
        "untranslated": "尚未翻译",
        "coverage": "已翻译：{all} 条注释中的 {done} 条（{percent} %）。",
        "rest": "其余以原文显示。",
        "code": "代码",
        "output": "输出",
        "reference": "参考手册",
        "search": "搜索",
        "found": "找到 {count} 项",
        "nothing": "没有找到结果",
        "permalink": "此处的链接",
        "built": "由 facing 生成",
    },
    "si": {
        "skip": "පිටුවේ අන්තර්ගතයට යන්න",
        "menu": "පටුන",
        "on_page": "මෙම පිටුවේ",
        "pages": "පිටු",
        "reading": "මෙතැනින් අරඹන්න",
        "breadcrumbs": "ඔබ සිටින තැන",
        "languages": "භාෂාව",
        "previous": "පෙර",
        "next": "ඊළඟ",
        "neighbours": "පෙර සහ ඊළඟ පිටු",
        "source": "මූල කේතය බලන්න",
        "colab": "Colab හි විවෘත කරන්න",
        "copy": "පිටපත් කරන්න",
        "copied": "පිටපත් කළා",
        "home": "මුල් පිටුව",
        "untranslated": "තවම පරිවර්තනය කර නැත",
        "coverage": "පරිවර්තනය කළ සටහන්: {all} න් {done} ({percent} %).",
        "rest": "ඉතිරි සටහන් මුල් භාෂාවෙන් දැක්වේ.",
        "code": "කේතය",
        "output": "ප්‍රතිදානය",
        "reference": "විමර්ශනය",
        "search": "සොයන්න",
        "found": "සොයාගත් ගණන: {count}",
        "nothing": "කිසිවක් හමු නොවීය",
        "permalink": "මෙම ස්ථානයට සබැඳිය",
        "built": "facing මගින් සාදන ලදී",
    },
    "ar": {
        "on_page": "في هذه الصفحة",
        "menu": "المحتويات",
        "pages": "الصفحات",
        "languages": "اللغة",
        "previous": "السابق",
        "next": "التالي",
        "copy": "نسخ",
        "copied": "تم النسخ",
        "home": "الرئيسية",
        "untranslated": "لم يترجم بعد",
        "code": "الشيفرة",
        "output": "المخرجات",
        "reference": "المرجع",
        "search": "بحث",
        "found": "النتائج: {count}",
        "nothing": "لا توجد نتائج",
    },
}

NAMES = {
    "ar": "العربية",
    "de": "Deutsch",
    "en": "English",
    "es": "Español",
    "fa": "فارسی",
    "fr": "Français",
    "he": "עברית",
    "hi": "हिन्दी",
    "it": "Italiano",
    "ja": "日本語",
    "ko": "한국어",
    "pt": "Português",
    "ru": "Русский",
    "si": "සිංහල",
    "ta": "தமிழ்",
    "tr": "Türkçe",
    "uk": "Українська",
    "ur": "اردو",
    "vi": "Tiếng Việt",
    "zh": "中文",
}
RIGHT_TO_LEFT = frozenset({"ar", "dv", "fa", "he", "ku", "ps", "sd", "ug", "ur", "yi"})


class Words:
    """The words of one language. `lang` says in which language a word really is, where that differs."""

    def __init__(self, language: str) -> None:
        self.language = language
        self.own = WORDS.get(language) or WORDS.get(language.split("-")[0], {})

    def __getitem__(self, name: str) -> str:
        return self.own.get(name, ENGLISH[name])

    def lang(self, name: str) -> str:
        """Give the language to mark, empty where the word is in the language of the page."""
        return "" if name in self.own else "en"


def language_name(language: str) -> str:
    """Name a language in itself."""
    return NAMES.get(language) or NAMES.get(language.split("-")[0], language)


def direction(language: str) -> str:
    return "rtl" if language.split("-")[0] in RIGHT_TO_LEFT else "ltr"
