"""Words and numbers for readers: one voice per language, used by pages, figures and proposals."""

from app.reports.wording.voice import LANGUAGES, WRITTEN, Voice, voice

__all__ = ["LANGUAGES", "WRITTEN", "Voice", "voice"]
