"""Send mails by a command of the operator, with the message on its standard input."""

from __future__ import annotations

import logging
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import SMTP

from app.errors import Message
from app.platform.identity import Identity
from app.platform.wording.voice import voice

logger = logging.getLogger("rackline.mail")

LONGEST = 30.0
"""Time limit of the command. [s]"""


@dataclass(frozen=True, slots=True)
class CommandMailer:
    """Sends mails by a command, such as ``["/usr/sbin/sendmail", "-t", "-i"]``."""

    command: Sequence[str]
    sender: str = ""

    def __call__(self, address: str, subject: str, text: str) -> bool:
        """Send a mail; tell whether the command accepted it."""
        try:
            message = self.written(address, subject, text)
            subprocess.run(
                list(self.command), input=message, timeout=LONGEST, check=True, capture_output=True
            )
        except (ValueError, OSError, subprocess.SubprocessError) as error:
            # Neither address nor text: more people read the log than the mail.
            logger.error("a mail could not be sent: %s", type(error).__name__)
            return False
        return True

    def written(self, address: str, subject: str, text: str) -> bytes:
        message = EmailMessage(policy=SMTP)
        message["To"] = address
        if self.sender:
            message["From"] = self.sender
        # What looks like an encoded word would be decoded, with the line breaks in it.
        message["Subject"] = subject.replace("=?", "= ?")
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(text)
        return bytes(message)


def send(identity: Identity, address: str, language: str, subject: Message, *lines: Message | str) -> bool:
    """Send a mail in a language; tell whether it was accepted. Without a command nothing is sent."""
    if identity.mail is None:
        return False
    speaker = voice(language)
    text = "\n\n".join(line if isinstance(line, str) else speaker.say(line) for line in lines)
    return identity.mail(address, speaker.say(subject), f"{text}\n")
