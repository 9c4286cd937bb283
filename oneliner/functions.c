/* functions.c - tables of functions and builtins, and of bpftrace's names that are refused */
#include "oneliner/tree.h"

#include "engine/base/nearest.h"

#include <string.h>

static const struct function_info functions[] = {
	[FUNCTION_COUNT] = {"count", 0, 0, USE_AGGREGATE, TYPE_NUMBER, false},
	[FUNCTION_SUM] = {"sum", 1, 1, USE_AGGREGATE, TYPE_NUMBER, false},
	[FUNCTION_MIN] = {"min", 1, 16, USE_AGGREGATE, TYPE_NUMBER, false},
	[FUNCTION_MAX] = {"max", 1, 16, USE_AGGREGATE, TYPE_NUMBER, false},
	[FUNCTION_AVG] = {"avg", 1, 1, USE_AGGREGATE, TYPE_NUMBER, false},
	[FUNCTION_STATS] = {"stats", 1, 1, USE_AGGREGATE, TYPE_NONE, false},
	[FUNCTION_HIST] = {"hist", 1, 2, USE_AGGREGATE, TYPE_NONE, false},
	[FUNCTION_LHIST] = {"lhist", 4, 4, USE_AGGREGATE, TYPE_NONE, false},
	[FUNCTION_PRINTF] = {"printf", 1, 16, USE_STATEMENT, TYPE_NONE, true},
	[FUNCTION_PRINT] = {"print", 1, 3, USE_STATEMENT, TYPE_NONE, true},
	[FUNCTION_CLEAR] = {"clear", 1, 1, USE_STATEMENT, TYPE_NONE, true},
	[FUNCTION_ZERO] = {"zero", 1, 1, USE_STATEMENT, TYPE_NONE, true},
	[FUNCTION_DELETE] = {"delete", 1, 1 + PROBE_KEYS_MAX, USE_STATEMENT, TYPE_NONE, true},
	[FUNCTION_TIME] = {"time", 0, 1, USE_STATEMENT, TYPE_NONE, true},
	[FUNCTION_EXIT] = {"exit", 0, 0, USE_STATEMENT, TYPE_NONE, true},
	[FUNCTION_HAS] = {"has", 1, 1, USE_VALUE, TYPE_NUMBER, false},
	[FUNCTION_LABEL] = {"label", 1, 1, USE_VALUE, TYPE_TEXT, false},
	[FUNCTION_INT] = {"int", 1, 1, USE_VALUE, TYPE_NUMBER, false},
	[FUNCTION_HEX] = {"hex", 1, 1, USE_VALUE, TYPE_TEXT, false},
	[FUNCTION_CHOOSE] = {"choose", 3, 3, USE_VALUE, TYPE_ANY, false},
	[FUNCTION_STR] = {"str", 1, 2, USE_VALUE, TYPE_TEXT, false},
	[FUNCTION_STRNCMP] = {"strncmp", 3, 3, USE_VALUE, TYPE_NUMBER, false},
	[FUNCTION_STRCONTAINS] = {"strcontains", 2, 2, USE_VALUE, TYPE_NUMBER, false},
	[FUNCTION_STRLEN] = {"strlen", 1, 1, USE_VALUE, TYPE_NUMBER, false},
	[FUNCTION_SUBSTR] = {"substr", 2, 3, USE_VALUE, TYPE_TEXT, false},
	[FUNCTION_SPLIT] = {"split", 3, 3, USE_VALUE, TYPE_TEXT, false},
	[FUNCTION_CAPTURES] = {"captures", 2, 3, USE_VALUE, TYPE_TEXT, false},
	[FUNCTION_STRFTIME] = {"strftime", 2, 2, USE_VALUE, TYPE_TEXT, false},
	[FUNCTION_STRERROR] = {"strerror", 1, 1, USE_VALUE, TYPE_TEXT, false},
	[FUNCTION_LEN] = {"len", 1, 1, USE_VALUE, TYPE_NUMBER, true},
	[FUNCTION_HAS_KEY] = {"has_key", 2, 1 + PROBE_KEYS_MAX, USE_VALUE, TYPE_NUMBER, true},
	[FUNCTION_KSTACK] = {"kstack", 0, 1, USE_VALUE, TYPE_TEXT, true},
	[FUNCTION_USTACK] = {"ustack", 0, 1, USE_VALUE, TYPE_TEXT, true},
	[FUNCTION_KSYM] = {"ksym", 1, 1, USE_VALUE, TYPE_TEXT, true},
	[FUNCTION_USYM] = {"usym", 1, 1, USE_VALUE, TYPE_TEXT, true},
};

enum { NFUNCTIONS = sizeof functions / sizeof *functions };

static const char *const builtins[] = {
	[BUILTIN_NSECS] = "nsecs", [BUILTIN_ELAPSED] = "elapsed", [BUILTIN_PID] = "pid",
	[BUILTIN_TID] = "tid",     [BUILTIN_COMM] = "comm",       [BUILTIN_CPU] = "cpu",
	[BUILTIN_PROBE] = "probe", [BUILTIN_KSTACK] = "kstack",   [BUILTIN_USTACK] = "ustack",
	[BUILTIN_TS] = "ts",       [BUILTIN_NAME] = "name",       [BUILTIN_STREAM] = "stream"};

enum { NBUILTINS = sizeof builtins / sizeof *builtins };

/* Names (parted by blanks) that a recording cannot answer, and the reason; NULL ends a table. */
struct refusal {
	const char *names, *why;
};

#define RUNNING "acts on a system that runs; a recording is over"
#define MEMORY "reads the memory of a system that runs; a recording has none"
#define LACKING "yore do does not have it (yore help do lists what there is)"

static const struct refusal functions_refused[] = {
	{"system signal override cat unwatch skboutput signal_thread", RUNNING},
	{"kaddr uaddr reg kptr uptr buf join path cgroupid cgroup_path macaddr percpu_kaddr "
	 "socket_cookie",
	 MEMORY},
	{"ntop pton kstr nsecs tseries bswap strcap errorf warnf sizeof offsetof fail assert "
	 "debugf ppid default_str_length",
	 LACKING},
	{NULL, NULL}};

#define NOT_TOLD "no trace tells it"

static const struct refusal builtins_refused[] = {
	{"curtask", NOT_TOLD " (the address of the kernel's task); tid names the thread"},
	{"rand", "it would differ from run to run"},
	{"cgroup username numaid usermode", NOT_TOLD},
	{"ctx", MEMORY},
	{"func", "it is of kprobes; probe names the event"},
	{"jiffies", NOT_TOLD " ; nsecs is the time"},
	{"arg0 arg1 arg2 arg3", "fields have names here: yore do -l TRACE lists them"},
	{NULL, NULL}};

#define SAMPLED                                                                                  \
	"samples were taken when the trace was recorded; name their event, as yore do -l TRACE " \
	"lists it"

static const struct refusal providers_refused[] = {{"profile p", SAMPLED},
						   {"watchpoint w asyncwatchpoint iter", MEMORY},
						   {"self bench test", RUNNING},
						   {NULL, NULL}};

const struct function_info *function_info(enum function function)
{
	return &functions[function];
}

enum type function_takes(enum function function, uint32_t argument)
{
	/* one letter per argument: t text, a any; else numbers */
	static const char *const letters[] = {
		[FUNCTION_HAS] = "a",      [FUNCTION_LABEL] = "a",    [FUNCTION_INT] = "a",
		[FUNCTION_CHOOSE] = "aaa", [FUNCTION_STR] = "t",      [FUNCTION_STRNCMP] = "tt",
		[FUNCTION_STRLEN] = "t",   [FUNCTION_SUBSTR] = "t",   [FUNCTION_STRCONTAINS] = "tt",
		[FUNCTION_SPLIT] = "tt",   [FUNCTION_STRFTIME] = "t", [FUNCTION_TIME] = "t",
		[FUNCTION_USYM] = ""};
	const char *of = letters[function] ? letters[function] : "";
	char letter = argument < strlen(of) ? of[argument] : 'n';

	return letter == 't' ? TYPE_TEXT : letter == 'a' ? TYPE_ANY : TYPE_NUMBER;
}

bool ast_aggregates(const struct ast *ast)
{
	bool of_several =
		ast->nargs > 1 && (ast->function == FUNCTION_MIN || ast->function == FUNCTION_MAX);

	return ast->kind == AST_CALL && function_info(ast->function)->use == USE_AGGREGATE &&
	       !of_several;
}

bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	if (!len || strchr(word, ' '))
		return false;
	for (const char *at = words; (at = strstr(at, word)); at += len)
		if ((at == words || at[-1] == ' ') && (!at[len] || at[len] == ' '))
			return true;
	return false;
}

static const char *refused(const struct refusal *table, const char *name)
{
	while (table->names && !has_word(table->names, name))
		table++;
	return table->why;
}

bool function_find(const struct oneliner *program, const char *name, uint32_t at,
		   enum function *out, struct error *err)
{
	char hint[NEAREST_WORDS_MAX];
	struct nearest nearest;

	for (size_t i = 0; i < NFUNCTIONS; i++) {
		if (!functions[i].name || strcmp(functions[i].name, name) != 0)
			continue;
		*out = (enum function)i;
		return true;
	}
	const char *why = refused(functions_refused, name);
	if (why)
		return oneliner_error(program, at, err, "%s(): %s", name, why);
	nearest_begin(&nearest, name);
	for (size_t i = 0; i < NFUNCTIONS; i++)
		if (functions[i].name)
			nearest_offer(&nearest, functions[i].name);
	return oneliner_error(program, at, err,
			      "there is no function %s(): %s'yore help do' lists them", name,
			      nearest_hint(&nearest, hint, sizeof hint));
}

bool builtin_find(const struct oneliner *program, const char *name, uint32_t at, enum builtin *out,
		  struct error *err)
{
	for (size_t i = 0; i < NBUILTINS; i++) {
		if (strcmp(builtins[i], name) != 0)
			continue;
		*out = (enum builtin)i;
		return true;
	}
	const char *why = refused(builtins_refused, name);
	return why ? oneliner_error(program, at, err, "%s: %s", name, why) : false;
}

bool provider_check(const struct oneliner *program, const char *name, uint32_t at,
		    struct error *err)
{
	const char *why = refused(providers_refused, name);

	return !why || oneliner_error(program, at, err, "%s: %s", name, why);
}
