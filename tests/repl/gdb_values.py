#!/usr/bin/python3
"""Variables of trace frames of GDB, by debug information: what `frame` shows is what GDB shows.

A program with values of many types is stopped by GDB at several places. Registers and some of its memory
become a trace file, which both read: GDB by `info args` and `info locals` in each frame, yore by `frame
--program`. One run for each way to compile: locations, frame bases and versions of DWARF differ.

SKIP is said where there is no compiler, no GDB, or no permission to trace a program.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

top = os.path.abspath(os.environ.get("srcdir", "."))
yore = os.path.join(os.path.abspath(os.environ.get("top_builddir", ".")), "yore")

PROGRAM = r"""
#include <stdio.h>
#include <string.h>
#include <stdbool.h>
enum color { RED, GREEN = 5, BLUE = -2 };
struct point { int x; short y; };
struct flags { unsigned a : 3; int b : 5; unsigned long long c : 40; enum color d : 4; bool e : 1; };
union either { int i; float f; char s[8]; };
struct all {
	struct point corner;
	struct { long in; union { int u; float w; }; };
	struct flags flags;
	union either either;
	char tag[6];
	double weights[3];
	struct point *to;
	int (*call)(int);
	const char *text;
	signed char small;
	unsigned char byte;
	_Bool yes;
	enum color color;
	unsigned long long wide;
	int grid[2][3];
	long double precise;
	float _Complex z;
};
typedef const struct all all_t;
int counter = 7;
static double ratio = 0.1;
char title[12] = "a title";
struct point points[3] = {{1, 2}, {3, 4}, {5, 6}};
volatile int sink;
__attribute__((noinline)) int twice(int n)
{
	return 2 * n;
}
__attribute__((noinline)) void stop(const void *p)
{
	sink += p != NULL;
}
static inline __attribute__((always_inline)) int inner(int k, const char *why)
{
	int squared = k * k;
	stop(why);
	return squared + sink;
}
__attribute__((noinline)) int work(int n, unsigned long mask, double x, float y, const char *name,
	struct point by_value, all_t *all, char c, long m7, long m8)
{
	int local = n * 3;
	static int calls;
	char buffer[16];
	int vla[n];
	struct point pair[2] = {by_value, {n, 4}};
	struct all copy = *all;
	for (int i = 0; i < n; i++)
		vla[i] = i + (int)mask;
	snprintf(buffer, sizeof buffer, "%s-%d", name, local);
	calls++;
	{
		long nested = m7 - m8;
		int local = 99;
		const float tau = 6.28f * y;
		stop(&copy); /* stop 1 */
		sink += (int)nested + local + (int)tau + pair[n & 1].x + vla[0];
		stop(&pair); /* stop 2 */
		sink += local + vla[n - 1];
	}
	sink += inner(local, name); /* stop 3 */
	stop(buffer);
	return local + buffer[0] + c + (int)x + all->corner.x;
}
int main(int argc, char **argv)
{
	struct point here = {-3, 8};
	struct all all = {.corner = {1, -2}, .in = 5, .w = 1.5f,
		.flags = {5, -7, 0x123456789aULL, GREEN, 1}, .tag = "tags", .weights = {0.1, -2, 1e300},
		.to = &here, .call = twice, .text = "text \"quoted\"\n", .small = -3, .byte = 200, .yes = true,
		.color = BLUE, .wide = ~0ULL, .grid = {{1, 2, 3}, {4, 5, 6}}, .precise = 0.1L, .z = 1.0f + 2.0fi};
	int sum = 0;
	all.either.f = -0.5f;
	for (int i = 1; i < 4; i++)
		sum += work(i + 1, 0xffffffff0ULL + (unsigned long)i, i / 3.0, i * 0.7f, argc > 5 ? argv[0] : "name",
			here, &all, (char)('a' + i), 1L << 40, i);
	printf("%d %f\n", sum, ratio + counter + title[0] + points[1].x + twice(sum));
	return 0;
}
"""

# Run inside GDB. Collects all registers, the stack up to main's part of it, and some variables.
RECORDER = r"""
import gdb, json, os, re, struct
out, stops = os.environ["OUT"], os.environ["STOPS"].split()
for line in ("pagination off", "confirm off", "disable-randomization on"):
    gdb.execute("set " + line)
gdb.execute("break main", to_string=True)
gdb.execute("run", to_string=True)
xml = gdb.execute("maint print xml-tdesc", to_string=True)
registers, n = [], 0
for tag in re.findall(r"<reg ([^>]*)/>", xml):
    had = dict(re.findall(r'(\w+)="([^"]*)"', tag))
    n = int(had.get("regnum", n))
    registers.append((n, had["name"], int(had["bitsize"]) // 8))
    n += 1
registers.sort()
inferior = gdb.selected_inferior()
def number(expression):
    return int(gdb.parse_and_eval("(unsigned long)(%s)" % expression))
def memory(address, n):
    return b"M" + struct.pack("<QH", address, n) + bytes(inferior.read_memory(address, n))
def block():
    data = b""
    for _, name, size in registers:
        try:
            gdb.execute("dump binary value %s.reg $%s" % (out, name), to_string=True)
            with open(out + ".reg", "rb") as file:
                data += file.read()[:size].ljust(size, b"\0")
        except gdb.error:
            data += bytes(size)
    return b"R" + data
def collect():
    sp, cfa = number("$sp"), int(re.search("frame at (0x[0-9a-f]+)", gdb.execute("info frame", to_string=True))[1], 16)
    yield block()
    if sp != cfa - 8:  # else what is below is of other calls
        yield memory(sp - 128, cfa - 8 - (sp - 128))  # not where it returns to: callers would tell GDB more
    yield memory(cfa, top - cfa)
    yield memory(number("&points[1]"), 10)
    yield memory(number("&counter"), 4)
    for address, n in json.loads(os.environ["SECTIONS"]):
        yield memory(address + number("&main") - int(os.environ["MAIN"]), n)
top = number("$sp") + 16
frames = []
for stop in stops:
    gdb.execute("break " + stop, to_string=True)
while True:
    gdb.execute("continue", to_string=True)
    if not inferior.pid:
        break
    data = b"".join(collect())
    frames.append(struct.pack("<HI", 1, len(data)) + data)
text = "\x7fTRACE0\nR %x\nstatus 0;tstop::0;tframes:%x;tcreated:%x;tfree:0;tsize:100\n" % (
    sum(size for _, _, size in registers), len(frames), len(frames))
with open(out, "wb") as file:
    file.write(text.encode("latin-1") + b"tp T1:%x:E:0:0\ntp Z1:%x:at:0:4:776f726b\n" % ((number("&main"),) * 2)
               + b"".join(b"tdesc " + line.encode() + b"\n" for line in xml.splitlines())
               + b"\n" + b"".join(frames) + b"\0\0\0\0")
with open(out + ".base", "w") as file:
    file.write("%d %d" % (number("&main") - int(os.environ["MAIN"]), len(frames)))
"""


def run(*words, **more):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          check=False, timeout=120, **more)


def table(program, *options):
    return run("readelf", "-W", *options, program).stdout


def record(program, out, source):
    """Stops the program at its places and writes a trace file. (base, frames), None: it cannot be traced."""
    lines = [str(i + 1) for i, line in enumerate(source.split("\n")) if re.search(r"/\* stop \d", line)]
    main = re.search(r"^ *\d+: ([0-9a-f]+) .* main$", table(program, "-s"), re.M)[1]
    sections = [[int(a, 16), int(n, 16)] for a, n in re.findall(
        r" \.rodata +PROGBITS +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+)", table(program, "-S"))]
    recorder = os.path.join(os.path.dirname(out), "recorder.py")
    with open(recorder, "w", encoding="ascii") as file:
        file.write(RECORDER)
    done = run("gdb", "-q", "-nx", "-batch", "-x", recorder, program, env=dict(
        os.environ, OUT=out, STOPS=" ".join(["*work", "twice", "stop"] + lines), MAIN=str(int(main, 16)),
        SECTIONS=str(sections), HOME=os.path.dirname(out), DEBUGINFOD_URLS="", LANG="C"))
    if not os.path.exists(out + ".base"):
        print("SKIP: GDB cannot stop a program here: " + done.stdout.strip().split("\n")[-1])
        return None
    with open(out + ".base", encoding="ascii") as file:
        base, frames = file.read().split()
    return int(base), int(frames)


def texts(value):
    """Each text between '"' as its bytes, zeros at its end left out: GDB escapes them in octal, yore in hex."""
    def plain(match):
        said = re.sub(r"\\([0-7]{3})", lambda m: "\\x%02x" % int(m[1], 8), match[1])
        for escape, byte in (("\\a", 7), ("\\b", 8), ("\\t", 9), ("\\n", 10), ("\\v", 11), ("\\f", 12), ("\\r", 13),
                             ("\\e", 27)):
            said = said.replace(escape, "\\x%02x" % byte)
        return '"%s"' % re.sub(r"(\\x00)+$", "", said)
    return re.sub(r'"((?:[^"\\]|\\.)*)"', plain, value)


def joined(value):
    """GDB names each part of a structure that is missing, yore the whole."""
    before = None
    while value != before:
        before, value = value, re.sub(r"\{(\w+ = )?<not collected>(, (\w+ = )?<not collected>)*\}",
                                      "<not collected>", value)
    return value


def of_gdb(program, trace, base, frames):
    """[(name, value)] of each frame."""
    words = ["-ex", "set width 0", "-ex", "set print repeats 0", "-ex", "set print entry-values no"]
    words += ["-ex", "symbol-file %s%s" % (program, " -o %#x" % base if base else "")]
    words += [] if base else ["-ex", "exec-file " + program]
    words += ["-ex", "target tfile " + trace]
    for i in range(frames):
        words += ["-ex", "tfind %d" % i, "-ex", "echo FRAME\\n", "-ex", "info args", "-ex", "info locals"]
    said = run("gdb", "-q", "-nx", "-batch", *words, env=dict(os.environ, DEBUGINFOD_URLS="", LANG="C")).stdout
    said = re.sub(r" <error: Cannot access memory at address 0x[0-9a-f]+>", "", said)  # a pointer that is not set
    parts = said.split("FRAME\n")[1:]
    return [[(name, joined(texts(value.replace("<unavailable>", "<not collected>"))))
             for name, value in re.findall(r"^(\w+) = (.*)$", part, re.M)] for part in parts]


def of_yore(program, trace, base, frame):
    said = run(yore, "frame", trace, str(frame), "--no-index", "--program", program + ("@%#x" % base if base else ""))
    return [(name, texts(value)) for name, value in re.findall(r"^([*\w]+) = (.*)$", said.stdout, re.M)]


def same(mine, their):
    """GDB does not look for callers whose stack is not there, and shows an array by its address, or not at all."""
    if mine[1] == "<value at entry, which the caller has>":
        return their == (mine[0], "<not collected>")
    unsized = re.match(r"<array of unknown length at (0x[0-9a-f]+)>$", mine[1])
    return mine == their or (unsized and mine[0] == their[0] and their[1] in (unsized[1], "<not collected>"))


def compare(name, program, trace, base, frames):
    """Counts of values and differences."""
    values, bad, points = 0, 0, 0
    known = of_gdb(program, trace, base, frames)
    if len(known) != frames:
        print("GDB told of %d frames of %d" % (len(known), frames))
        return 0, 1
    for i, theirs in enumerate(known):
        all_ours = of_yore(program, trace, base, i)
        ours = [pair for pair in all_ours if not pair[0].startswith("*")]
        for mine, their in zip(ours, theirs):
            values += 1
            if not same(mine, their):
                bad += 1
                print("%s, frame %d: %s\n  GDB says %s" % (name, i, mine, their))
        if len(ours) < len(theirs):
            bad += 1
            print("%s, frame %d: %s is missing" % (name, i, theirs[len(ours)][0]))
        file_has = ours[len(theirs):]
        points += ("points", "{<not collected>, {x = 3, y = 4}, {x = <not collected>, y = <not collected>}}") in file_has
        bad += ("counter", "7") not in file_has
    return values, bad + (points != frames)


def main():
    ways = [("cc", "-O0", "-no-pie"), ("cc", "-O1", "-no-pie", "-gdwarf-4"), ("cc", "-O2", "-no-pie"), ("cc", "-O0", "-pie", "-fPIE"),
            ("clang-14", "-O0", "-no-pie"), ("clang-14", "-O2", "-no-pie")]
    missing = [tool for tool in ("gdb", "cc", "readelf") if not shutil.which(tool)]
    if missing:
        print("SKIP: there is no " + ", no ".join(missing))
        return 77
    work = tempfile.mkdtemp(prefix="yore-values-")
    status = 0
    try:
        source = os.path.join(work, "vars.c")
        with open(source, "w", encoding="ascii") as file:
            file.write(PROGRAM)
        for number, way in enumerate(ways):
            program, trace = os.path.join(work, "vars%d" % number), os.path.join(work, "trace%d.tf" % number)
            name = " ".join(way)
            if not shutil.which(way[0]) or run(way[0], "-g", "-w", *way[1:], "-o", program, source).returncode:
                print("SKIP: %s: does not compile here" % name)
                continue
            recorded = record(program, trace, PROGRAM)
            if not recorded:
                return 77
            values, bad = compare(name, program, trace, *recorded)
            print("%s: %s: %d values in %d frames" % ("FAIL" if bad or not values else "PASS", name, values, recorded[1]))
            status |= bool(bad) or not values
    finally:
        if not os.environ.get("KEEP"):
            shutil.rmtree(work)
    return status


sys.exit(main())
