#!/usr/bin/python3
"""Scripts of --slurm on a cluster of one node: arrays of stats, sql and do answer what one process answers, byte for byte, and those
of index --timelines leave timelines. What needs no cluster is tried everywhere: which options go together, and how words are quoted."""
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
from results import HANGS, finish, result, top, until, yore

CONFIGURATION = """ClusterName=one
SlurmctldHost=%(host)s(127.0.0.1)
SlurmUser=root
AuthType=auth/none
CryptoType=crypto/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SchedulerParameters=sched_interval=1,batch_sched_delay=0
SlurmctldPort=%(port)d
SlurmdPort=%(daemon_port)d
StateSaveLocation=%(work)s/state
SlurmdSpoolDir=%(work)s/spool
SlurmctldPidFile=%(work)s/ctld.pid
SlurmdPidFile=%(work)s/d.pid
SlurmctldLogFile=%(work)s/ctld.log
SlurmdLogFile=%(work)s/d.log
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MailProg=/bin/true
NodeName=%(host)s NodeAddr=127.0.0.1 CPUs=%(cpus)d State=UNKNOWN
PartitionName=p Nodes=%(host)s Default=YES MaxTime=10 State=UP
"""
golden = os.path.join(top, "fixtures", "golden", "sched-demo")
work = tempfile.mkdtemp(prefix="yore-slurm-")
env = dict(os.environ, YORE_LUA_DIR=os.path.join(top, "lua-lib"), HOME=work, XDG_CACHE_HOME=os.path.join(work, "cache"), TZ="UTC",
           SLURM_CONF=os.path.join(work, "slurm.conf"))
env.pop("YORE_INDEX_DIR", None)


def run(*words):
    done = subprocess.run(words, capture_output=True, env=env, cwd=work, timeout=HANGS, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def without_cluster():
    for words, why in [(["stats", golden, "--chunk", "1/2", "--partial", "x"], "itself"), (["do", golden, "* { @ = count(); }", "--follow"], "--follow"),
                       (["index", golden], "is of --timelines --exchange"), (["stats"], "TRACE"),
                       (["index", golden, "--timelines", "--exchange", "x", "--workers", "2"], "--workers"),
                       (["sql", golden, "SELECT ts FROM events"], "cannot be counted in parts"), (["latency", golden], "cannot be counted in parts"),
                       (["do", golden, "* { print(1); }"], "cannot be counted in parts")]:
        status, out, said = run(yore, *words, "--slurm", "2")
        result(status == 2 and why in said.decode() and not out, f"refused: {' '.join(words[:1] + words[2:])} --slurm", said)
    strange = "SELECT count(*) AS \"a'b \"\"c\"\" $HOME `x`\n\\ ;é\x1b*\" FROM events"
    status, out, _ = run(yore, "sql", golden, strange, "--slurm=2")
    line = out.decode().split("exec ", 1)[1].split(" --jobs 1 --chunk")[0]
    result(shlex.split(line) == [yore, "sql", golden, strange], "words are quoted", line)


def free_port():
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        return some.getsockname()[1]


def start_cluster():
    """Its daemons; None: why there is none."""
    missing = [name for name in ("slurmctld", "slurmd", "sbatch") if not shutil.which(name)]
    if missing or os.geteuid():
        return None, "no " + ", ".join(missing) if missing else "only root can start one"
    for folder in ("state", "spool"):
        os.mkdir(os.path.join(work, folder))
    with open(env["SLURM_CONF"], "w", encoding="utf-8") as file:
        file.write(CONFIGURATION % {"host": socket.gethostname().split(".")[0], "port": free_port(), "daemon_port": free_port(), "work": work,
                                    "cpus": len(os.sched_getaffinity(0))})
    daemons = [subprocess.Popen([name, "-D", "-f", env["SLURM_CONF"]], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
               for name in ("slurmctld", "slurmd")]
    if until(lambda: b"idle" in run("sinfo", "-h", "-o", "%T")[1], 30, 0.2):
        return daemons, None
    stop(daemons)
    return None, "its daemons do not come up"


def stop(daemons):
    for daemon in daemons:
        daemon.terminate()
    for daemon in daemons:
        try:
            daemon.wait(10)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()


def answered(*words):
    """What the script answers."""
    status, script, said = run(yore, *words)
    return run("sh", "-c", script.decode()) if status == 0 else (status, script, said)


def with_cluster():
    """All at once: sbatch looks every few seconds whether a job has ended."""
    sums = [["stats", golden, "--where", "prev_pid != 0"], ["sql", golden, "SELECT name, count(*) FROM events GROUP BY name", "--format", "csv"],
            ["do", golden, "sched_switch { @[prev_comm] = count(); }"], ["switches", golden, "threads", "--format", "csv"]]
    timelines = ["index", golden, "--timelines", "--exchange", "exchange"]
    truths = [run(yore, *words) for words in sums]
    with ThreadPoolExecutor() as pool:
        *answers, (status, out, said) = pool.map(lambda words: answered(*words, "--slurm", "3"), [*sums, timelines])
    for words, truth, got in zip(sums, truths, answers):
        result(truth == got, f"{words[0]}: three tasks and their sums", (truth, got))
    built = len([name for name in os.listdir(os.path.join(work, "exchange")) if ".built-" in name])
    result(status == 0 and b"changes of state" in out and built == 12, "index: three tasks", (status, out, said, built))
    question = [yore, "at", golden, "+5ms", "cpu[*]/**"]
    got, truth = run(*question, "--stats"), run(*question, "--no-index")
    result(got[1] == truth[1] and b'"slices"' in got[2], "index: timelines answer", (got, truth))
    left = [name for name in os.listdir(work) if name.startswith("yore-slurm-")]
    result(len(left) < 2, "only the folder of what failed is left", left)


try:
    without_cluster()
    cluster, why = start_cluster()
    if cluster:
        try:
            with_cluster()
        finally:
            stop(cluster)
    else:
        print("SKIP: a cluster of one node: " + why)
finally:
    for _ in range(5):
        shutil.rmtree(work, ignore_errors=True)
        if not os.path.exists(work):
            break
        time.sleep(0.2)
finish()
