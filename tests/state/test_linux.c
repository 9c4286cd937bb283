/*
 * test_linux.c - what the rules that come with yore say of a few events of a kernel
 *
 * The answer of each question is known by what a kernel does. It is asked by every way.
 */
#include "tests/harness.h"
#include "tests/state/all_ways.h"

enum { MAX_EVENTS = 12 };

/* As perf's tracepoints: the thread that they ran in is context. */
#define OWN "@tid", "@common_pid"
static const struct fake_class classes[] = {
	{"sched:sched_switch", {OWN, "prev_pid", "prev_state", "next_pid"}},
	{"sched:sched_wakeup", {OWN, "pid", "target_cpu"}},
	{"sched:sched_waking", {OWN, "pid", "target_cpu"}},
	{"raw_syscalls:sys_enter", {OWN, "id"}},
	{"perf_exit", {"tid"}},
	{"cycles", {"@tid"}},
	{"sched:sched_process_free", {OWN, "pid"}},
	{"sched_wakeup_new", {"tid"}},
};
enum { SWITCH, WAKEUP, WAKING, ENTER, EXIT, CYCLES, FREE, OLD };

#define SWITCHES(t, cpu, prev, how, next)                               \
	{                                                               \
		.time = t, .stream = cpu, .class = SWITCH, .numbers = { \
			prev,                                           \
			prev,                                           \
			prev,                                           \
			how,                                            \
			next                                            \
		}                                                       \
	}
#define WAKES(t, cpu, what, self, woken, target)                                                  \
	{                                                                                         \
		.time = t, .stream = cpu, .class = what, .numbers = { self, self, woken, target } \
	}
#define CALLS(t, cpu, self)                                                            \
	{                                                                              \
		.time = t, .stream = cpu, .class = ENTER, .numbers = { self, self, 1 } \
	}
#define SAYS(t, cpu, what, tid)                                             \
	{                                                                   \
		.time = t, .stream = cpu, .class = what, .numbers = { tid } \
	}
#define LOSES(t, cpu, end)                                                 \
	{                                                                  \
		.time = t, .stream = cpu, .class = FAKE_LOSS, .until = end \
	}

/* 7 runs on CPU 1, sleeps, is woken for CPU 1 from CPU 0, and runs. */
#define SLEEPS                                                                                     \
	{                                                                                          \
		SWITCHES(10, 1, 0, 0, 7), SWITCHES(20, 1, 7, 1, 0), WAKES(30, 0, WAKEUP, 5, 7, 1), \
			SWITCHES(40, 1, 0, 0, 7), SWITCHES(50, 1, 7, 1, 0)                         \
	}
/* 7 has said that it will sleep, and is woken before it left CPU 1. */
#define STAYS                                                                                     \
	{                                                                                         \
		SWITCHES(10, 1, 0, 0, 7), WAKES(30, 0, WAKEUP, 5, 7, 1), SWITCHES(50, 1, 7, 0, 0) \
	}
/* Without sched_wakeup: 7 sleeps, is woken, and runs. */
#define SLEEPS_AND_WAKES                                                                           \
	{                                                                                          \
		SWITCHES(10, 1, 0, 0, 7), SWITCHES(20, 1, 7, 1, 0), WAKES(30, 0, WAKING, 5, 7, 1), \
			SWITCHES(40, 1, 0, 0, 7), SWITCHES(50, 1, 7, 1, 0)                         \
	}
/* 7 is woken, and leaves CPU 1: to sleep again, or because it was about to when it was woken. */
#define LEAVES                                                                                    \
	{                                                                                         \
		SWITCHES(10, 1, 0, 0, 7), WAKES(30, 0, WAKING, 5, 7, 1), SWITCHES(40, 1, 7, 1, 0) \
	}
#define LOST_BETWEEN                                                                  \
	{                                                                             \
		SWITCHES(10, 1, 0, 0, 7), SWITCHES(15, 1, 7, 1, 0), LOSES(20, 1, 25), \
			WAKES(30, 0, WAKEUP, 5, 7, 1), SWITCHES(50, 1, 0, 0, 7)       \
	}
#define LOST_AND_STAYS                                                                     \
	{                                                                                  \
		SWITCHES(10, 1, 0, 0, 7), LOSES(20, 1, 25), WAKES(30, 0, WAKEUP, 5, 7, 1), \
			SWITCHES(50, 1, 7, 0, 0)                                           \
	}
/* Of 7 and 8 alone: 7 calls, is left for 3, is back, gives its CPU to 8. */
#define TASKS                                                                                \
	{                                                                                    \
		CALLS(10, 0, 7), SWITCHES(20, 0, 7, 1, 3), CALLS(25, 1, 8),                  \
			SWITCHES(30, 1, 8, 0, 3), CALLS(60, 0, 7), SWITCHES(70, 0, 7, 0, 8), \
			SWITCHES(90, 0, 8, 1, 0)                                             \
	}
/* 9 wakes 7, and is no recorded thread. 7 wakes 9. */
#define WAKERS                                                                            \
	{                                                                                 \
		CALLS(10, 0, 7), WAKES(15, 0, WAKING, 7, 9, 1), SWITCHES(20, 0, 7, 1, 3), \
			WAKES(30, 1, WAKING, 9, 7, 0), WAKES(35, 1, WAKEUP, 9, 7, 0),     \
			WAKES(40, 0, WAKING, 7, 9, 1), SWITCHES(50, 0, 7, 1, 0)           \
	}
/* 7 ends, and wakes its parent 6, which is recorded, after that; its number is taken again. */
#define ENDS                                                                                      \
	{                                                                                         \
		CALLS(10, 0, 7), CALLS(12, 1, 6), SWITCHES(14, 1, 6, 1, 0), SAYS(20, 0, EXIT, 7), \
			WAKES(25, 0, WAKING, 7, 6, 1), WAKES(30, 0, FREE, 6, 7, 0),               \
			SWITCHES(40, 0, 6, 1, 7), SWITCHES(50, 1, 6, 1, 0)                        \
	}
#define BEHIND                                                                    \
	{                                                                         \
		CALLS(10, 0, 7), SWITCHES(20, 0, 7, 1, 3), SAYS(21, 0, CYCLES, 7) \
	}

static struct row {
	const char *name;
	enum recording recording;
	struct fake_event events[MAX_EVENTS];
	struct asked asked;
} rows[] = {
	{"a thread that sleeps is ready when it is woken",
	 RECORDING_CPUS,
	 SLEEPS,
	 {"thread[7]/state", 35, false, "\"ready\"", 30}},
	{"and runs from its switch on",
	 RECORDING_CPUS,
	 SLEEPS,
	 {"thread[7]/state", 45, false, "\"running\"", 40}},
	{"a thread that is woken while it runs keeps running",
	 RECORDING_CPUS,
	 STAYS,
	 {"thread[7]/state", 49, false, "\"running\"", 30}},
	{"and is ready when it leaves",
	 RECORDING_CPUS,
	 STAYS,
	 {"thread[7]/state", 50, false, "\"ready\"", 50}},
	{"who runs where it is woken is lost: runs or ready",
	 RECORDING_CPUS,
	 LOST_BETWEEN,
	 {"thread[7]/state", 35, false, "unknown", 30}},
	{"it ran: that is seen when it leaves",
	 RECORDING_CPUS,
	 LOST_AND_STAYS,
	 {"thread[7]/state", 35, false, "\"running\"", 30}},
	{"a wake-up that names no CPU",
	 RECORDING_CPUS,
	 {SAYS(10, 0, OLD, 7)},
	 {"thread[7]/state", 10, false, "\"ready\"", 10}},
	{"with it, sched_waking changes no state",
	 RECORDING_CPUS,
	 SLEEPS_AND_WAKES,
	 {"thread[7]/state", 35, false, "\"sleeping\"", 20}},
	{"with sched_wakeup in the trace it sleeps",
	 RECORDING_CPUS,
	 LEAVES,
	 {"thread[7]/state", 45, false, "\"sleeping\"", 40}},
	{"tasks: a CPU before the first evidence",
	 RECORDING_TASKS,
	 TASKS,
	 {"cpu[0]/thread", 9, false, "unknown", SINCE_NEVER}},
	{"tasks: from a thread's own event on",
	 RECORDING_TASKS,
	 TASKS,
	 {"cpu[0]/thread", 19, false, "7", 10}},
	{"tasks: not the thread that follows, until the next evidence",
	 RECORDING_TASKS,
	 TASKS,
	 {"cpu[0]/thread", 59, false, "unknown", 20}},
	{"tasks: what came back is seen by its event",
	 RECORDING_TASKS,
	 TASKS,
	 {"cpu[0]/thread", 69, false, "7", 60}},
	{"tasks: a recorded thread that follows",
	 RECORDING_TASKS,
	 TASKS,
	 {"cpu[0]/thread", 89, false, "8", 70}},
	{"tasks: whole CPUs know who follows",
	 RECORDING_CPUS,
	 TASKS,
	 {"cpu[0]/thread", 59, false, "3", 20}},
	{"tasks: a thread runs until it leaves",
	 RECORDING_TASKS,
	 TASKS,
	 {"thread[7]/state", 19, false, "\"running\"", 10}},
	{"tasks: what it does then is not told",
	 RECORDING_TASKS,
	 TASKS,
	 {"thread[7]/state", 59, false, "unknown", 20}},
	{"tasks: nothing of a thread that is not recorded",
	 RECORDING_TASKS,
	 TASKS,
	 {"thread[3]/state", 25, false, "unknown", 20}},
	{"tasks: a recorded thread that follows runs",
	 RECORDING_TASKS,
	 TASKS,
	 {"thread[8]/state", 89, false, "\"running\"", 70}},
	{"tasks: idling is not told",
	 RECORDING_TASKS,
	 TASKS,
	 {"idle[0]/state", 95, false, "unknown", SINCE_NEVER}},
	{"tasks: who wakes a recorded thread need not be one",
	 RECORDING_TASKS,
	 WAKERS,
	 {"cpu[1]/thread", 36, false, "unknown", 35}},
	{"tasks: a recorded thread that wakes runs",
	 RECORDING_TASKS,
	 WAKERS,
	 {"cpu[0]/thread", 45, false, "7", 40}},
	{"tasks: a wake-up does not tell when it runs",
	 RECORDING_TASKS,
	 WAKERS,
	 {"thread[7]/state", 36, false, "unknown", 20}},
	{"tasks: a thread that ends leaves its CPU",
	 RECORDING_TASKS,
	 ENDS,
	 {"cpu[0]/thread", 22, false, "unknown", 20}},
	{"tasks: and is not recorded any more",
	 RECORDING_TASKS,
	 ENDS,
	 {"cpu[0]/thread", 27, false, "unknown", 25}},
	{"tasks: its number is taken again",
	 RECORDING_TASKS,
	 ENDS,
	 {"cpu[0]/thread", 45, false, "unknown", 40}},
	{"tasks: a sample behind the switch is no evidence",
	 RECORDING_TASKS,
	 BEHIND,
	 {"cpu[0]/thread", 25, false, "unknown", 20}},
};

/* The trace has no sched_wakeup. */
static struct row wakings[] = {
	{"without sched_wakeup, a thread is ready from sched_waking on",
	 RECORDING_CPUS,
	 SLEEPS_AND_WAKES,
	 {"thread[7]/state", 35, false, "\"ready\"", 30}},
	{"a thread that was woken before it ran sleeps when it leaves",
	 RECORDING_CPUS,
	 SLEEPS_AND_WAKES,
	 {"thread[7]/state", 55, false, "\"sleeping\"", 50}},
	{"a thread that is woken while it runs goes on, without sched_wakeup, too",
	 RECORDING_CPUS,
	 LEAVES,
	 {"thread[7]/state", 35, false, "\"running\"", 30}},
	{"whether it sleeps when it leaves then is not known",
	 RECORDING_CPUS,
	 LEAVES,
	 {"thread[7]/state", 45, false, "unknown", 40}},
};

static size_t count_events(const struct row *row)
{
	size_t count = 0;

	while (count < MAX_EVENTS && row->events[count].time)
		count++;
	return count;
}

static void ask(const struct row *row, const struct fake_class *of_trace)
{
	struct fake_trace *trace =
		fake_trace_new(2, of_trace, COUNT(classes), row->events, count_events(row));
	struct rules *rules = rules_new();
	struct error err;

	trace->trace.parts[0]->recording = row->recording;
	if (!rules_add_builtin(rules, "linux", &err))
		fail_msg("%s", err.text);
	ask_all_ways(trace, rules, &row->asked);
	rules_free(rules);
	fake_trace_free(trace);
}

static void all_ways(void **state)
{
	ask(*state, classes);
}

static void without_wakeups(void **state)
{
	struct fake_class others[COUNT(classes)];

	memcpy(others, classes, sizeof others);
	others[WAKEUP].name = "mark";
	ask(*state, others);
}

int main(void)
{
	struct CMUnitTest tests[COUNT(rows) + COUNT(wakings)];

	for (size_t i = 0; i < COUNT(rows); i++)
		tests[i] = (struct CMUnitTest){rows[i].name, all_ways, NULL, NULL, &rows[i]};
	for (size_t i = 0; i < COUNT(wakings); i++)
		tests[COUNT(rows) + i] = (struct CMUnitTest){wakings[i].name, without_wakeups, NULL,
							     NULL, &wakings[i]};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
