"""A program that takes more than it may have: of memory, of disk, of time; or that dies."""

import os
import signal
import sys
import time

from app.profiles.sandbox import MOST_WRITTEN, bound_memory

if __name__ == "__main__":
    bound_memory(500_000_000)
    match sys.argv[1]:
        case "memory":
            sys.stdout.write(str(len(bytearray(600_000_000))))
        case "disk":
            sys.stdout.buffer.write(b"1")
            sys.stdout.buffer.seek(MOST_WRITTEN)
            sys.stdout.buffer.write(b"2")
            sys.stdout.buffer.flush()
        case "fault":
            os.kill(os.getpid(), signal.SIGSEGV)
        case _:
            time.sleep(60)
