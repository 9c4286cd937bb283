"""What Python tests of the command line share: rows of results, and traces written to a folder."""
import os
import sys

top = os.path.abspath(os.environ.get("srcdir", "."))
yore = os.path.join(os.path.abspath(os.environ.get("top_builddir", ".")), "yore")
failed = False


def result(good, name, why=""):
    global failed
    print(("PASS: " if good else "FAIL: ") + name)
    if not good:
        print("\t" + str(why)[:2000])
        failed = True


def finish():
    """Ends the test: its status is 1 when a row failed."""
    sys.exit(1 if failed else 0)


def write(folder, metadata, streams):
    """A trace: its metadata, a text or bytes, and its stream files, bytes by name."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "metadata"), "wb") as file:
        file.write(metadata if isinstance(metadata, bytes) else metadata.encode())
    for name, data in streams.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)
    return folder
