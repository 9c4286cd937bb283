#!/usr/bin/python3
"""yore-mpi: 1, 3 and 4 ranks, with an index folder each or one for all, by each library of MPI that is there, leave timelines that answer
what no index answers. YORE_MPI_SIZE=100M: also what processor time pass 2 of four ranks takes, beside that of one."""
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "repl"))
from results import HANGS, finish, result, top, yore

build = os.path.dirname(yore)
generator = os.path.join(build, "fixtures", "yore-gen")
size = os.environ.get("YORE_MPI_SIZE", "")
work = tempfile.mkdtemp(prefix="yore-mpi-test-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) and not size else None)
env = dict(os.environ, YORE_LUA_DIR=os.path.join(top, "lua-lib"), HOME=work, TMPDIR=work, XDG_CACHE_HOME=os.path.join(work, "cache"), TZ="UTC",
           OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1",
           OMPI_MCA_btl_vader_single_copy_mechanism="none", PRTE_ALLOW_RUN_AS_ROOT="1")
env["ASAN_OPTIONS"] = ":".join(filter(None, [env.get("ASAN_OPTIONS", ""), "detect_leaks=0"]))  # of the libraries
env.pop("YORE_INDEX_DIR", None)
LIBRARIES = {"MPICH": ("mpich", "mpirun.mpich"), "Open MPI": ("openmpi", "mpirun.openmpi")}
QUESTIONS = [["at", "+5ms", "cpu[*]/**"], ["state", "thread[*]/state"]]


def run(*words):
    done = subprocess.run(words, capture_output=True, env=env, cwd=work, timeout=600 if size else HANGS, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def ranks(library, count, *words):
    program, launcher = LIBRARIES[library]
    return run(launcher, "-n", str(count), os.path.join(build, "tests", "mpi", "yore-mpi-" + program), *words)


def answers(trace, *options):
    return [run(yore, words[0], trace, *words[1:], *options)[:2] for words in QUESTIONS]


def check(library, trace):
    truth = answers(trace, "--no-index")
    for count in (1, 4):
        folder = os.path.join(work, "index")
        status, out, said = ranks(library, count, trace, "--index-dir", folder)
        slices = b'"evaluation":"slices"' in run(yore, *QUESTIONS[0][:1], trace, *QUESTIONS[0][1:], "--index-dir", folder, "--stats")[2]
        result(status == 0 and out.count(b"changes of state") == 1, f"{library}: {count} ranks", (status, out, said))
        result(slices and answers(trace, "--index-dir", folder) == truth, f"{library}: {count} ranks: answers")
        shutil.rmtree(folder, ignore_errors=True)
    script = 'exec "$0" "$1" --index-dir "rank.${PMI_RANK:-$OMPI_COMM_WORLD_RANK}"'
    program, launcher = LIBRARIES[library]
    status, out, said = run(launcher, "-n", "3", "sh", "-c", script, os.path.join(build, "tests", "mpi", "yore-mpi-" + program), trace)
    good = [rank for rank in range(3) if answers(trace, "--index-dir", f"rank.{rank}") == truth
            and b'"slices"' in run(yore, "at", trace, "+5ms", "cpu[*]/**", "--index-dir", f"rank.{rank}", "--stats")[2]]
    result(status == 0 and good == [0, 1, 2], f"{library}: each rank has an index of its own", (status, out, said, good))
    for rank in range(3):
        shutil.rmtree(os.path.join(work, f"rank.{rank}"), ignore_errors=True)
    left = [name for name in os.listdir(work) if name.startswith("yore-mpi-")]
    result(not left, f"{library}: nothing is left in TMPDIR", left)
    status, _, said = ranks(library, 2, os.path.join(work, "nowhere"))
    result(status and b"nowhere" in said and b"rank 0" in said, f"{library}: no trace", (status, said))


def processor_seconds(*words):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(*words)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(library):
    """Processor time of pass 2: of four ranks, in sum, and of one process that makes it all. The least of three."""
    trace, folder, took = os.path.join(work, "large"), os.path.join(work, "index"), {"serial": [], "pass2": []}
    if not os.path.exists(trace):
        subprocess.run([generator, "--out", trace, "--size", size, "--no-truth"], check=True, capture_output=True)
    for _ in range(3):
        run(yore, "index", trace, "--index-dir", folder)
        took["serial"].append(processor_seconds(yore, "index", trace, "--timelines", "--jobs", "1", "--index-dir", folder))
        shutil.rmtree(folder)
        said = json.loads(ranks(library, 4, trace, "--index-dir", folder, "--stats")[2].decode().splitlines()[-1])
        took["pass2"].append(said["pass2"])
        shutil.rmtree(folder)
    efficiency = min(took["serial"]) / min(took["pass2"])
    result(efficiency >= 0.85, f"{library}: efficiency of pass 2 by four ranks: {efficiency:.2f}: {took}")


try:
    golden = os.path.join(top, "fixtures", "golden", "sched-demo")
    tried = 0
    for name, (wanted, launch) in LIBRARIES.items():
        if not os.path.exists(os.path.join(build, "tests", "mpi", "yore-mpi-" + wanted)) or not shutil.which(launch):
            print(f"SKIP: {name} is not installed")
            continue
        tried += 1
        check(name, golden)
        if size:
            measure(name)
finally:
    shutil.rmtree(work, ignore_errors=True)
if not tried:
    sys.exit(77)
finish()
