#!/bin/sh
# Trace frames of GDB, of a file that is made here: `frame` finds them as tfind does and shows them as
# tdump does, their numbers are no times.
. "${srcdir:-.}/tests/shell.sh"
cd "$work" || exit 99
python3 - trace.tf <<'PY' || fail "making trace.tf"
import struct, sys

TEXT = b"""\x7fTRACE0
R 1a
status 0;tstop::0;tframes:4;tcreated:4;tfree:0;tsize:100
tsv 2:0:0:68697473
tp T1:401000:E:0:0
tp Z1:401000:at:0:4:6d61696e
tp T2:402000:E:1:0
tp Z2:402000:at:0:4:73746570
tdesc <target><architecture>i386:x86-64</architecture>
tdesc <reg name="rax" bitsize="64" type="int64"/><reg name="rip" bitsize="64" type="code_ptr"/>
tdesc <reg name="st0" bitsize="80"/></target>

"""


def frame(number, *blocks):
    data = b"".join(blocks)
    return struct.pack("<HI", number, len(data)) + data


def registers(rax, rip):
    return b"R" + struct.pack("<qQ", rax, rip) + bytes(range(10))


def memory(address, data):
    return b"M" + struct.pack("<QH", address, len(data)) + data


with open(sys.argv[1], "wb") as file:
    file.write(TEXT
               + frame(1, registers(-2, 0x401000), memory(0x1000, b"0123456789abcdef\x00\xff"),
                       b"V" + struct.pack("<iq", 2, 1))
               + frame(2, registers(7, 0x402000))
               + frame(2, registers(8, 0x402004))
               + frame(1, memory(0x2000, b"x"))
               + b"\0\0\0\0")
PY

cmp trace.tf "$top/fixtures/golden/gdb-demo/trace.tf" >printed 2>&1
result $? "the golden file is this one"

# shown NAME EXPECTED LINE...: the prompt prints that of these lines
shown()
{
	name=$1
	printf '%s\n' "$2" >expected
	shift 2
	printf '%s\n' "$@" | "$yore" trace.tf >printed 2>&1
	diff -u expected printed >diff && mv diff printed && result 0 "$name" && return
	cat diff
	result 1 "$name"
}

shown "a frame in full" 'frame 0, tracepoint 1, main, pc 0x401000
rax            0xfffffffffffffffe -2
rip            0x401000           0x401000
st0            00 01 02 03 04 05 06 07 08 09
0x1000: 30 31 32 33 34 35 36 37 38 39 61 62 63 64 65 66  0123456789abcdef
0x1010: 00 ff                                            ..
$hits = 1' 'frame'
shown "without registers" 'frame 3, tracepoint 1, main, pc 0x401000
registers were not collected
0x2000: 78                                               x' 'frame 3'
heads()
{
	name=$1 expected=$2
	shift 2
	printf '%s\n' "$@" | "$yore" trace.tf 2>&1 | sed -n 's/^frame \([0-9]*\),.*/\1/p; s/^yore: //p' |
		tr '\n' ';' >printed
	[ "$(cat printed)" = "$expected" ]
	result $? "$name"
}
heads "by number" '2;0;3;1;' 'frame 2' 'frame 0' 'frame -0' 'frame +1'
heads "next and prev" '0;1;2;1;0;there is no frame before;' 'frame 0' 'frame next' 'frame next' 'frame prev' \
	'frame prev' 'frame prev'
heads "of a tracepoint" "1;2;there is no such frame behind the current one: 'frame 0' goes to the first;" \
	'frame tracepoint 2' 'frame tracepoint 2' 'frame tracepoint 2'
heads "at an address" '0;3;' 'frame pc 0x401000' 'frame pc 4198400'
heads "in a range" '1;2;' 'frame range 0x401001 0x402004' 'frame range 0x402000,0x402004'
heads "outside of a range" '2;3;' 'frame outside 0x401000 0x402000' 'frame outside 0x402000 0x402004'
heads "behind the current moment" '2;' 'goto 1' 'frame next'
heads "goes on from next" '3;' 'goto 1' 'next' 'frame next'
heads "no such frame" 'there is no frame 4;' 'frame 4'
heads "no such tracepoint" 'there is no frame of tracepoint 9;0;there is no frame of tracepoint 9;' 'frame tracepoint 9' \
	'frame 0' 'frame tracepoint 9'
heads "none at an address" '3;there is no frame at 0x5;there is no frame 0x1 to 0x5;' 'frame 3' 'frame pc 5' 'frame range 1,5'
heads "none outside" 'there is no frame outside of 0x1 to 0xffffff;' 'frame outside 1 0xffffff'
heads "a range that falls" 'frame range: 0x5 is above 0x1;' 'frame range 5 1'
usage='frame: a number is expected, or next, prev, tracepoint N, pc ADDRESS, range A B, outside A B, line [FILE:]N, '
usage="${usage}where 'NAME > NUMBER', values NAME..., changes NAME...;"
for words in main tracepoint line pc 'next 2' 'prev prev' where values changes; do
	heads "no frame: $words" "$usage" "frame $words"
done
shown "what a register is in each frame" '0  main  $rax = -2
1  step  $rax = 7
2  step  $rax = 8' 'frame values $rax'
shown "where one of two changes" '0  main  $hits = 1  $rip = 0x401000
1  step  $rip = 0x402000
2  step  $rip = 0x402004' 'frame changes $hits $rip'
shown "no frame has it" 'yore: note: no frame has a value of $nosuch' 'frame values $nosuch'
shown "a variable without the program" 'yore: note: no frame has a value of x: variables of the program need --program FILE' 'frame values x'
heads "where a register is larger" '1;2;there is no such frame behind the current one: '"'frame 0'"' goes to the first;' 'frame where $rax>6' \
	'frame where "$rax >= 8"' 'frame where "$rax != 7"'
heads "in none" 'there is no frame in which $rax == 100;' 'frame where "$rax == 0x64"'
heads "no condition" "frame where: 'rax' is not NAME OP NUMBER, such as 'counter > 5';" 'frame where rax'
heads "no tracepoint's number" "frame tracepoint: 'main' is no number;" 'frame tracepoint main'
heads "no number" "'1.5': the trace has no clock: the number of an event is expected, or +N from the first, or -N from the last;" \
	'frame 1.5'
heads "half a range" 'frame range: two addresses are expected, A B;' 'frame range 5'
heads "no address" "frame: 'main' is no address (0x... or decimal);" 'frame pc main'

"$yore" frame "$top/fixtures/golden/sched-demo" >printed 2>&1
[ $? = 1 ] && grep -q 'the trace has no trace frames of GDB, which tsave writes$' printed
result $? "a trace of another kind"

"$yore" events trace.tf --begin 1 --end 3 >printed 2>&1
printf '%s\n' '1 frames step: tracepoint 2, pc 0x402000, 3 registers' \
	'2 frames step: tracepoint 2, pc 0x402004, 3 registers' | diff - printed >diff
result $? "numbers of frames are a range"
"$yore" stats trace.tf >printed 2>&1
grep -q '^range   0 to 3, numbers of events$' printed && ! grep -q 'second,\|[0-9] per second' printed
result $? "no rates"
"$yore" events trace.tf --with "$top/fixtures/golden/sched-ftrace/trace.dat" --name step >printed 2>&1
[ "$(cut -d' ' -f1 printed | tr '\n' ' ')" = '1 2 ' ]
result $? "numbers beside times of another trace"
"$yore" events trace.tf --where 'rax == 7' --count >printed 2>&1
[ "$(cat printed)" = 1 ]
result $? "a register in a condition"
"$yore" convert trace.tf numbers.json >printed 2>&1
grep -q '^yore: note: the events have no clock: in numbers.json their numbers stand as nanoseconds$' printed
result $? "numbers where times are expected"
"$yore" convert trace.tf numbers --to ctf >printed 2>&1 && [ ! -s printed ] &&
	"$yore" info numbers | grep -q '^range  *0 to 3, numbers of events$'
result $? "CTF without a clock has numbers"
# A position-independent program that was loaded somewhere: binutils say where its functions and lines are.
cat >prog.c <<'C'
int twice(int n)
{
	return 2 * n;
}

int main(void)
{
	return twice(21) != 42;
}
C
if ${CC:-cc} -g -O0 -fPIE -pie -o prog prog.c 2>/dev/null && command -v nm >/dev/null &&
	command -v addr2line >/dev/null; then
	place() { nm prog | awk -v name="$1" '$3 == name { print "0x" $1 }'; }
	python3 - trace.tf pie.tf "$(place main)" "$(place twice)" <<'PY' || fail "making pie.tf"
import struct, sys

data = open(sys.argv[1], "rb").read()
head = data[:data.index(b"\n\n") + 2]
frames = b""
for at in sys.argv[3:] + sys.argv[3:4]:
    block = b"R" + struct.pack("<qQ", 0, 0x555555554000 + int(at, 16)) + bytes(10)
    frames += struct.pack("<HI", 1, len(block)) + block
open(sys.argv[2], "wb").write(head + frames + b"\0\0\0\0")
PY
	line=$(addr2line -e prog "$(place twice)" | sed 's/.*:\([0-9]*\).*/\1/')
	main=$(addr2line -e prog "$(place main)" | sed 's/.*:\([0-9]*\).*/\1/')
	"$yore" frame pie.tf 1 --program prog@0x555555554000 >printed 2>&1
	grep -q "<twice> at .*prog\.c:$line\$" printed
	result $? "a program that was relocated"
	printf '%s\n' "frame line $main" "frame line prog.c:$line" "frame line /prog.c:$main" \
		"frame line prog.c:$main" "frame line other.c:$main" 'frame 0' "frame line g.c:$main" |
		"$yore" pie.tf --program prog@0x555555554000 2>&1 |
		sed -n 's/^frame \([0-9]*\),.*/\1/p; s/^yore: \(there is no\).*/\1/p' | tr '\n' ' ' >printed
	[ "$(cat printed)" = '0 1 there is no 2 there is no 0 there is no ' ]
	result $? "by source line"
	"$yore" frame pie.tf line prog.c:99 --program prog@0x555555554000 >printed 2>&1
	[ "$(cat printed)" = 'yore: there is no frame in line 99 of prog.c' ]
	result $? "no frame in a line"
	"$yore" frame pie.tf 1 --program prog >printed 2>&1
	grep -q '^yore: note: 0x5555.* is not in the file of --program: it is another program, or FILE@ADDRESS says where' printed
	result $? "another program, or elsewhere"
	"$yore" frame pie.tf line 3 >printed 2>&1
	[ $? = 2 ] && grep -q "frame line: the program's lines are not known: --program FILE\$" printed
	result $? "a line of no program"
else
	echo "SKIP: frames of a relocated program: no compiler or binutils"
fi
"$yore" events trace.tf --program trace.tf --count >printed 2>&1
[ "$(cat printed)" = 4 ]
result $? "a program that is not asked about"
"$yore" events trace.tf --program trace.tf >printed 2>&1
grep -q 'yore: warning: --program: trace.tf: no ELF program that can be read' printed
result $? "a program that is no program"
exit $status
