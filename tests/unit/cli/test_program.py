"""How the program ends: with its exit code, alone and as one of several processes, and with everything written."""

import os
import subprocess
import sys

import pytest

ENDS = """
import atexit, sys
import headwise.cli

def main():
    atexit.register(print, "a tracker has closed its file")
    sys.stdout.write("the last line")
    return {code}

headwise.cli.main = main
headwise.cli.program()
"""


@pytest.mark.parametrize("several", [False, True], ids=["alone", "one-of-several"])
@pytest.mark.parametrize("code", [0, 2])
def test_the_program_ends_with_its_code_and_nothing_unwritten(several, code):
    environment = {key: value for key, value in os.environ.items() if key not in ("RANK", "WORLD_SIZE")}
    if several:
        environment |= {"RANK": "1", "WORLD_SIZE": "2"}
    done = subprocess.run(
        [sys.executable, "-c", ENDS.format(code=code)], env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout == "the last linea tracker has closed its file\n"


def test_one_process_of_several_ends_while_a_thread_holds_tensors():
    """A thread that asks for the interpreter while it is taken apart is what aborts a process that has done its work."""
    program = "from headwise.train.processes import leave; import threading, time\n"
    program += "threading.Thread(target=time.sleep, args=(600,)).start(); leave(3)"
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 3
