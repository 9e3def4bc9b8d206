#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pty.py WIDTH[,WIDTH] COMMAND... - run a command on a terminal of that width; all that it shows
there goes to stdout, its exit status is ours. The terminal gets the second width when a step has been shown; a
line "resized" stands there."""
import fcntl
import os
import struct
import sys
import termios

master, slave = os.openpty()
widths = [int(width) for width in sys.argv[1].split(",")]


def resize(fd, width):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))


resize(slave, widths[0])
pid = os.fork()
if pid == 0:
    os.setsid()
    for fd in (0, 1, 2):
        os.dup2(slave, fd)
    os.environ["TERM"] = "xterm"
    os.execv(sys.argv[2], sys.argv[2:])
os.close(slave)
while True:
    try:
        data = os.read(master, 65536)
    except OSError:
        break
    if not data:
        break
    sys.stdout.buffer.write(data)
    if len(widths) > 1 and b"  step " in data:
        resize(master, widths.pop())
        sys.stdout.buffer.write(b"\nresized\n")
sys.stdout.buffer.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 0xFF)
