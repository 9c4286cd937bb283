/*
 * options.c - the table of options, and one pass over the words
 *
 * The table says where a value is stored, so that parsing, help and completion cannot disagree.
 * Words right behind a list option may be further values of it, or words of the command. That is
 * decided at the end: the command gets the words that it needs, and the list the others.
 */
#include "repl/options.h"

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/workers.h"
#include "engine/base/nearest.h"
#include "lua-lib/script.h"
#include "repl/cmd.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { RETRY_MOST = 1000000, SLURM_MOST = 1000 };

#define AT(member) offsetof(struct options, member)

static const struct option table[] = {
	/* clang-format off */
	{{"--begin", "TIME", "events and intervals from TIME on", OPT_RANGE}, TAKE_TEXT, .at = AT(begin)},
	{{"--end", "TIME", "and before TIME", OPT_RANGE}, TAKE_TEXT, .at = AT(end)},
	{{"--name", "GLOB...", "events of these names", OPT_FILTER}, TAKE_LIST, .at = AT(names)},
	{{"--cpu", "N...", "of these CPUs; 0-3 is a range", OPT_FILTER | OPT_THREADS}, TAKE_LIST, .at = AT(cpus)},
	{{"--tid", "THREAD...", "while these threads ran: numbers, ranges, names", OPT_FILTER | OPT_THREADS}, TAKE_LIST, .at = AT(tids)},
	{{"--pid", "N...", "while threads of these processes ran", OPT_FILTER | OPT_THREADS}, TAKE_LIST, .at = AT(pids)},
	{{"--comm", "GLOB...", "while threads of these names ran", OPT_FILTER | OPT_THREADS}, TAKE_LIST, .at = AT(comms)},
	{{"--stream", "GLOB...", "of these streams", OPT_STREAM}, TAKE_LIST, .at = AT(streams)},
	{{"--where", "EXPR", "for which the expression is true", OPT_FILTER}, TAKE_WORDS, .at = AT(wheres)},
	{{"--all", NULL, "events: also records without a time; lists: also what does not change in the range", OPT_EVENTS | OPT_LISTS}, TAKE_FLAG, .at = AT(all)},
	{{"--budget", "N", "for lists: packets of each stream that are read around the range", OPT_LISTS}, TAKE_NUMBER, .at = AT(budget), .most = UINT32_MAX},
	{{"--reverse", NULL, "latest first", OPT_EVENTS}, TAKE_FLAG, .at = AT(reverse)},
	{{"--count", NULL, "only how many", OPT_EVENTS}, TAKE_FLAG, .at = AT(count)},
	{{"--follow", NULL, "go on with what is recorded, as it becomes final", OPT_FOLLOW}, TAKE_FLAG, .at = AT(follow)},
	{{"--patience", "SPAN", "with --follow: how long an idle stream holds back the others (2s)", OPT_FOLLOW}, TAKE_TEXT, .at = AT(patience)},
	{{"--around", "TIME", "the events nearest to TIME", OPT_EVENTS}, TAKE_TEXT, .at = AT(around)},
	{{"--context", "N", "with --around: so many before and after (10)", OPT_EVENTS}, TAKE_NUMBER, .at = AT(context), AT(has_context), UINT32_MAX},
	{{"--until", "EXPR", "up to and with the first row for which it is true", OPT_TRIGGERS}, TAKE_TEXT, .at = AT(until)},
	{{"--on", "EXPR", "with --do: at each event, or interval, for which it is true", OPT_TRIGGERS}, TAKE_TEXT, .at = AT(on)},
	{{"--do", "COMMAND", "run it, with {ts}, {trace} and so on filled in", OPT_TRIGGERS}, TAKE_TEXT, .at = AT(do_command)},
	{{"--do-shell", "COMMAND", "run it in a shell, with YORE_TS and so on in its environment", OPT_TRIGGERS}, TAKE_TEXT, .at = AT(do_shell)},
	{{"--limit", "N", "at most N rows", OPT_LIMIT}, TAKE_NUMBER, .at = AT(limit), AT(has_limit), UINT64_MAX},
	{{"--sort", "COLUMN", "in the order of a column", OPT_ANALYSIS}, TAKE_TEXT, .at = AT(sort)},
	{{"--symbols", NULL, "name the frames of call chains in JSON too", OPT_SYMBOLS}, TAKE_FLAG, .at = AT(symbols)},
	{{"--no-symbols", NULL, "leave call chains as addresses", OPT_SYMBOLS}, TAKE_FLAG, .at = AT(no_symbols)},
	{{"--lines", NULL, "name source files and lines of frames, too: slow", OPT_SYMBOLS}, TAKE_FLAG, .at = AT(lines)},
	{{"--program", "FILE[@ADDR]", "the traced program, where the trace does not tell what was mapped", OPT_TRACE}, TAKE_TEXT, .at = AT(program)},
	{{"--before", NULL, "just before TIME instead of after its events", OPT_BEFORE}, TAKE_FLAG, .at = AT(before)},
	{{"--names", NULL, "look for names of threads further than a few packets", OPT_WHY}, TAKE_FLAG, .at = AT(find_names)},
	{{"--why", NULL, "the event and the rule that set each value", OPT_WHY}, TAKE_FLAG, .at = AT(why)},
	{{"--list", NULL, "name the analyses that come with yore", OPT_LIST}, TAKE_FLAG, .at = AT(list), .no_trace = true},
	{{"--sandbox", NULL, "the script sees the trace, and no files or programs", OPT_LIST}, TAKE_FLAG, .at = AT(sandbox)},
	{{"--chunk", "I/N", "with --partial: what this part of N counts", OPT_PARTIALS}, TAKE_TEXT, .at = AT(chunk)},
	{{"--partial", "FILE", "with --chunk: where that goes, for --merge", OPT_PARTIALS}, TAKE_TEXT, .at = AT(partial)},
	{{"--merge", "FILE...", "the answer from the files of all parts", OPT_PARTIALS}, TAKE_FILES, .at = AT(merge), AT(merges)},
	{{"--slurm", "N", "print a script by which N tasks of Slurm do it: pipe it into sh", OPT_SLURM}, TAKE_NUMBER, .at = AT(slurm), .most = SLURM_MOST},
	{{"--probes", NULL, "-l: list events that programs can name, and their fields", OPT_DO}, TAKE_FLAG, .at = AT(probes)},
	{{"--file", "FILE", "-f: read the program from a file", OPT_DO}, TAKE_TEXT, .at = AT(file)},
	{{"--retry", "SECONDS", "how long a relay that gives nothing new is tried again (60)", OPT_ATTACH}, TAKE_NUMBER, .at = AT(retry), AT(has_retry), RETRY_MOST},
	{{"--rules", "FILE", "rules of one's own instead, or a set's NAME (repeatable)", OPT_RULES}, TAKE_WORDS, .at = AT(rules)},
	{{"--format", "text|table|csv|json|line", "how rows are written", OPT_FORMAT}, TAKE_CHOICE, .at = AT(format), AT(format_set)},
	{{"--time", "clock|iso|seconds|ns|relative", "how times are written", OPT_FORMAT}, TAKE_CHOICE, .at = AT(time), AT(time_set)},
	{{"--utc", NULL, "times of day are UTC, not local", OPT_FORMAT}, TAKE_FLAG, .at = AT(utc)},
	{{"--with", "TRACE", "merge another trace on the same time line (repeatable)", OPT_TRACE}, TAKE_WORDS, .at = AT(with)},
	{{"--offset", "TRACE=+-TIME", "shift a trace's times (repeatable)", OPT_TRACE}, TAKE_WORDS, .at = AT(offsets)},
	{{"--input", "FORMAT[,key=value...]", "read it as FORMATS; what content cannot say", OPT_TRACE}, TAKE_TEXT, .at = AT(input)},
	{{"--key-file", "FILE", "the key of packets that are encrypted (CTF of 2010)", OPT_TRACE}, TAKE_TEXT, .at = AT(key_file)},
	{{"--index-dir", "DIR", "where indexes go", OPT_TRACE}, TAKE_TEXT, .at = AT(index_dir)},
	{{"--no-index", NULL, "keep everything in memory", OPT_TRACE}, TAKE_FLAG, .at = AT(no_index)},
	{{"--jobs", "N", "threads at most (default: processors)", OPT_TRACE}, TAKE_JOBS, .at = AT(jobs)},
	{{"--memory", "SIZE", "memory a question may take: 500M, 2G (default: most of what is left)", OPT_TRACE}, TAKE_SIZE, .at = AT(memory_most)},
	{{"--strict", NULL, "discarded events count as damage, known faults of tracers as errors", OPT_COMMON}, TAKE_FLAG, .at = AT(strict)},
	{{"--stats", NULL, "end with one line of JSON on standard error: what it cost", OPT_COMMON}, TAKE_FLAG, .at = AT(stats)},
	{{"--progress", NULL, "show progress even when standard error is no terminal", OPT_COMMON}, TAKE_FLAG, .at = AT(progress)},
	{{"--quiet", NULL, "no notes: why an answer is empty, what was left out of it", OPT_COMMON}, TAKE_FLAG, .at = AT(quiet)},
	{{"--debug", "index|cursor|state|all", "say on standard error what these do; several with commas", OPT_COMMON}, TAKE_TOPICS, .at = AT(debug)},
	{{"--color", "auto|always|never", "colours", OPT_COMMON}, TAKE_CHOICE, .at = AT(color)},
	{{"--help", NULL, "help on the command", OPT_COMMON}, TAKE_FLAG, .at = AT(help)},
	{{"--version", NULL, "yore's version", OPT_COMMON}, TAKE_FLAG, .at = AT(version)},
}; /* clang-format on */

static size_t count_own(const struct cmd *cmd)
{
	size_t n = 0;

	while (cmd && cmd->own && cmd->own[n].info.name)
		n++;
	return n;
}

static unsigned groups_of(const struct cmd *cmd)
{
	const unsigned prompt = OPT_TRACE | OPT_FORMAT | OPT_RULES | OPT_LISTS;

	return OPT_COMMON | (cmd ? cmd->options : prompt);
}

const struct option_info *option_info(const struct cmd *cmd, size_t i)
{
	size_t nown = count_own(cmd);

	if (i < nown)
		return &cmd->own[i].info;
	i -= nown;
	for (size_t k = 0; k < sizeof table / sizeof *table; k++)
		if (table[k].info.group & groups_of(cmd) && !i--)
			return &table[k].info;
	return NULL;
}

struct parse {
	struct options *out;
	bool in_prompt;
	char *copy; /* free part of out->memory, where list values are cut at commas */
	/* per word of out->words: the list of which it may be a value; NULL: none */
	struct words **owner;
	size_t nowner, owner_capacity;
	struct words *last_list; /* list of the option before; the next words may be values of it */
	struct words *files;     /* values of a TAKE_FILES option, to which words go; or NULL */
	bool raw;                /* all that follow are words, no options */
	int raw_from;            /* index of the first of them in argv; 0: there is none */
	bool analysis;           /* `run` of an analysis, whose own options are words */
	size_t trace_at;         /* place in out->words of the trace; 0: not found yet */
	bool no_trace;           /* an option makes the command take no TRACE */
	bool asks_itself;        /* the analysis prints its metadata, or opens traces itself */
};

void words_add(struct words *words, const char *word)
{
	*mem_push(words->items, words->count, words->capacity) = word;
}

/*
 * Copies `value` into out->memory, cut at commas outside of brackets, and adds the parts. False:
 * there is none, as of a variable of the shell that is not set.
 */
static bool list_add(struct parse *parse, struct words *list, const char *value)
{
	size_t len = strlen(value), before = list->count;
	bool bracket = false;
	char *item = parse->copy;

	memcpy(item, value, len + 1);
	parse->copy += len + 1;
	for (char *at = item;; at++) {
		if (*at == '[')
			bracket = true;
		else if (*at == ']')
			bracket = false;
		if (*at && (*at != ',' || bracket))
			continue;
		bool end = !*at;
		*at = 0;
		if (*item)
			words_add(list, item);
		if (end)
			return list->count > before;
		item = at + 1;
	}
}

static bool option_number(const char *name, const char *value, uint64_t most, uint64_t *out,
			  struct error *err)
{
	uint64_t sum = 0;

	if (!*value)
		return error_set(err, ERR_QUERY, "%s: a number is missing", name);
	for (const char *at = value; *at; at++) {
		if (*at < '0' || *at > '9' || __builtin_mul_overflow(sum, 10, &sum) ||
		    __builtin_add_overflow(sum, (uint64_t)(*at - '0'), &sum) || sum > most)
			return error_set(err, ERR_QUERY, "%s: '%s' is not a number from 0 to %llu",
					 name, value, (unsigned long long)most);
	}
	*out = sum;
	return true;
}

/* Parses a size in bytes; K, M, G or T behind it stand for powers of 1024. */
static bool size_of(const char *name, const char *value, uint64_t *out, struct error *err)
{
	static const char units[] = "KMGT";
	size_t len = strlen(value);
	const char *unit = len ? strchr(units, value[len - 1]) : NULL;
	char digits[24];
	int shift = unit ? 10 * (int)(unit - units + 1) : 0;

	len -= unit != NULL;
	if (len == 0 || len >= sizeof digits)
		return error_set(err, ERR_QUERY, "%s: '%s' is not a size: 300M, 2G", name, value);
	memcpy(digits, value, len);
	digits[len] = 0;
	if (!option_number(name, digits, UINT64_MAX >> shift, out, err))
		return error_set(err, ERR_QUERY, "%s: '%s' is not a size: 300M, 2G", name, value);
	*out <<= shift;
	return *out ||
	       error_set(err, ERR_QUERY, "%s: it must be more than nothing", name);
}

bool options_keep(uint64_t *out, struct error *err)
{
	const char *keep = getenv("YORE_INDEX_KEEP");

	if (!keep || !*keep)
		return error_set(err, ERR_QUERY,
				 "index: --prune needs --keep SIZE or YORE_INDEX_KEEP: how much may "
				 "stay");
	return size_of("YORE_INDEX_KEEP", keep, out, err);
}

bool option_span(const char *value, nstime *out)
{
	struct time_word span;
	struct error ignored;
	struct buf word = {0};

	buf_printf(&word, "+%s", value);
	bool good = *value != '-' && *value != '+' &&
		    time_parse(buf_text(&word), &span, &ignored) && span.from == FROM_START;
	buf_release(&word);
	*out = good ? span.ns : 0;
	return good;
}

/* Appends `: did you mean "b"?` if a word of "a|b|c" is like `value`. */
static void add_like(const char *words, const char *value, struct buf *out)
{
	char copy[NEAREST_LENGTH_MAX], hint[NEAREST_WORDS_MAX], *rest = copy, *word;
	struct nearest nearest;

	snprintf(copy, sizeof copy, "%s", words);
	nearest_begin(&nearest, value);
	while ((word = strsep(&rest, "|")))
		nearest_offer(&nearest, word);
	if (nearest_words(&nearest, hint, sizeof hint))
		buf_printf(out, ": %s", hint);
}

/* Sets *out to the index of `value` among the words of "a|b|c". */
static bool choice(const struct option_info *info, const char *value, unsigned *out,
		   struct error *err)
{
	const char *at = info->value;
	struct buf like = {0};
	size_t len = strlen(value);

	for (*out = 0; at; ++*out) {
		size_t n = strcspn(at, "|");
		if (n == len && strncmp(at, value, n) == 0)
			return true;
		at = at[n] ? at + n + 1 : NULL;
	}
	add_like(info->value, value, &like);
	error_set(err, ERR_QUERY, "%s: '%s' is none of %s%s", info->name, value, info->value,
		  buf_text(&like));
	buf_release(&like);
	return false;
}

/* Limits --jobs to the processors: more threads would wait for each other. Tests lift the limit. */
static unsigned jobs_at_most(unsigned asked)
{
	const char *lifted = getenv("YORE_JOBS_MOST");
	unsigned most = lifted ? (unsigned)strtoul(lifted, NULL, 10) : 0;

	most = most ? most : processors();
	return asked < most ? asked : most;
}

/* Parses words parted by commas to bits: word i of info->value is bit i. */
static bool take_topics(const struct option_info *info, const char *value, unsigned *out,
			struct error *err)
{
	enum { TOPICS = 3 };
	char word[16];
	unsigned pick;

	*out = 0;
	for (const char *at = value;; at++) {
		size_t n = strcspn(at, ",");

		snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word - 1), at);
		if (!choice(info, word, &pick, err))
			return false;
		*out |= pick < TOPICS ? 1u << pick : (1u << TOPICS) - 1;
		at += n;
		if (!*at)
			return true;
	}
}

static bool set_value(struct parse *parse, const struct option *option, const char *value,
		      struct error *err)
{
	char *base = option->info.group ? (char *)parse->out : parse->out->own;
	void *at = base + option->at;
	const char *name = option->info.name;
	uint64_t n = 0;
	bool good = true;

	switch (option->kind) {
	case TAKE_FLAG:
		*(bool *)at = true;
		break;
	case TAKE_TEXT:
		*(const char **)at = value;
		break;
	case TAKE_LIST:
		good = list_add(parse, at, value) ||
		       error_set(err, ERR_QUERY, "%s: %s is missing", name, option->info.value);
		parse->last_list = at;
		break;
	case TAKE_FILES:
		parse->files = at;
		words_add(at, value);
		break;
	case TAKE_WORDS:
		words_add(at, value);
		break;
	case TAKE_NUMBER:
		good = option_number(name, value, option->most, at, err);
		break;
	case TAKE_JOBS:
		good = option_number(name, value, 4096, &n, err);
		parse->out->jobs = jobs_at_most((unsigned)n);
		break;
	case TAKE_SIZE:
		good = size_of(name, value, at, err);
		break;
	case TAKE_CHOICE:
		good = choice(&option->info, value, at, err);
		break;
	case TAKE_TOPICS:
		good = take_topics(&option->info, value, at, err);
		break;
	}
	if (option->has)
		*(bool *)(base + option->has) = true;
	parse->no_trace = parse->no_trace || option->no_trace;
	return good;
}

static bool options_is_named(const struct option *option, const char *word, size_t len)
{
	return strlen(option->info.name) == len && strncmp(option->info.name, word, len) == 0;
}

static const struct option *option_find(const struct cmd *cmd, const char *word, size_t len)
{
	size_t nown = count_own(cmd);

	for (size_t i = 0; i < nown; i++)
		if (options_is_named(&cmd->own[i], word, len))
			return &cmd->own[i];
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (options_is_named(&table[i], word, len))
			return &table[i];
	return NULL;
}

static bool bad_option(const struct parse *parse, const char *word, struct error *err)
{
	const struct cmd *cmd = parse->out->cmd;
	char name[NEAREST_LENGTH_MAX], hint[NEAREST_WORDS_MAX];
	struct nearest nearest;

	snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
	nearest_begin(&nearest, name);
	for (size_t i = 0; option_info(cmd, i); i++)
		nearest_offer(&nearest, option_info(cmd, i)->name);
	return error_set(
		err, ERR_QUERY, "%s: no such option%s%s: %s'%s%s%s' lists them", word,
		cmd ? " of " : "", cmd ? cmd->name : "", nearest_hint(&nearest, hint, sizeof hint),
		parse->in_prompt ? "help" : "yore help", cmd ? " " : "", cmd ? cmd->name : "");
}

/* Parses the option words[*i], and advances *i to its value if that is the next word. */
static bool take_option(struct parse *parse, int n, char **words, int *i, struct error *err)
{
	const char *word = words[*i], *value = NULL;
	const struct option *option;
	size_t len;

	if (strcmp(word, "-h") == 0)
		word = "--help";
	else if (parse->out->cmd && strcmp(word, "-l") == 0 && (groups_of(parse->out->cmd) & OPT_DO))
		word = "--probes";
	else if (parse->out->cmd && strcmp(word, "-f") == 0 && (groups_of(parse->out->cmd) & OPT_DO))
		word = "--file";
	else if (strcmp(word, "-V") == 0)
		word = "--version";
	if (word[0] != '-' || word[1] != '-')
		return bad_option(parse, word, err);
	len = strcspn(word, "=");
	option = option_find(parse->out->cmd, word, len);
	if (!option)
		return bad_option(parse, word, err);
	if (word[len] == '=')
		value = word + len + 1;
	if (!option->info.value && value)
		return error_set(err, ERR_QUERY, "%s takes no value", option->info.name);
	if (option->info.value && !value) {
		if (*i + 1 >= n)
			return error_set(err, ERR_QUERY, "%s: %s is missing", option->info.name,
					 option->info.value);
		value = words[++*i];
	}
	parse->last_list = NULL;
	parse->files = NULL;
	return set_value(parse, option, value, err);
}

static void add_word(struct parse *parse, const char *word)
{
	*mem_push(parse->owner, parse->nowner, parse->owner_capacity) = parse->last_list;
	words_add(&parse->out->words, word);
}

/* Sets the command, also again: behind `explain`, which was one first. */
static void set_command(struct options *out, const struct cmd *cmd)
{
	mem_free(out->own);
	out->cmd = cmd;
	out->own = cmd && cmd->own ? mem_new(cmd->own_bytes) : NULL;
}

/* Parses the first word, or that behind `explain`: a command, or a trace for the prompt. */
static bool take_command(struct parse *parse, const char *word, struct error *err)
{
	struct options *out = parse->out;
	struct error unknown = {0};
	const struct cmd *cmd = cmd_find(word, &unknown);
	bool exact = cmd && strcmp(cmd->name, word) == 0;

	if (!exact && !parse->in_prompt && !out->explain_only && access(word, F_OK) == 0) {
		out->trace = word; /* yore TRACE */
		return true;
	}
	if (!cmd) {
		*err = unknown;
		return false;
	}
	if (strcmp(cmd->name, "explain") == 0 && !out->explain_only) {
		out->explain_only = true;
		set_command(out, cmd); /* until the next word, the command to explain */
		return true;
	}
	set_command(out, cmd);
	return true;
}

static bool command_known(const struct parse *parse)
{
	const struct options *out = parse->out;

	return out->trace ||
	       (out->cmd && !(out->explain_only && strcmp(out->cmd->name, "explain") == 0));
}

/* Behind `run SCRIPT TRACE` (in the prompt `run SCRIPT`) and two words of `live`: no options. */
static void raw_after_script(struct parse *parse)
{
	const struct cmd *cmd = parse->out->cmd;

	if (!cmd)
		return;
	if ((strcmp(cmd->name, "run") == 0 &&
	     parse->out->words.count == (parse->in_prompt ? 1U : 2U)) ||
	    (strcmp(cmd->name, "live") == 0 && parse->out->words.count == 2))
		parse->raw = true;
}

/* Is it an option by which the analysis names traces itself, in place of TRACE? */
static bool names_runs(const struct parse *parse, const char *word)
{
	size_t len = strcspn(word, "=");
	char name[16];

	if (len >= sizeof name)
		return false;
	memcpy(name, word, len);
	name[len] = '\0';
	return script_analysis_takes(parse->out->words.items[0], name);
}

/* Is it an option of the analysis that takes a value, as the analysis' own help says? */
static bool takes_value(const struct parse *parse, const char *word)
{
	return !strncmp(word, "--", 2) &&
	       script_analysis_option(parse->out->words.items[0], word + 2, strlen(word + 2));
}

bool options_take_lists(struct options *out, size_t *n, char **words, struct error *err)
{
	struct parse parse = {.out = out};
	size_t left = 0;

	for (int i = 0; i < (int)*n; i++) {
		const struct option *option =
			option_find(out->cmd, words[i], strcspn(words[i], "="));

		if (!option || !(option->info.group & OPT_LISTS))
			words[left++] = words[i];
		else if (!take_option(&parse, (int)*n, words, &i, err))
			return false;
	}
	*n = left;
	return true;
}

/* Parses an option behind an analysis: yore's own (--with, --rules ...), or one for the script. */
static bool take_of_analysis(struct parse *parse, int n, char **words, int *i, struct error *err)
{
	const char *word = words[*i];
	const struct option *option = option_find(parse->out->cmd, word, strcspn(word, "="));
	bool shown = option && (!strcmp(option->info.name, "--time") ||
				!strcmp(option->info.name, "--utc"));

	parse->asks_itself |= !strcmp(word, "--mi-version") || !strcmp(word, "--metadata") ||
			      names_runs(parse, word);
	if (!strcmp(word, "-h") || shown ||
	    (option && option->info.group & (OPT_TRACE | OPT_RULES | OPT_COMMON | OPT_LISTS |
					     OPT_FOLLOW | OPT_PARTIALS | OPT_SLURM)))
		return take_option(parse, n, words, i, err);
	add_word(parse, word);
	if (!strchr(word, '=') && *i + 1 < n &&
	    (option ? option->info.value != NULL : takes_value(parse, word)))
		add_word(parse, words[++*i]);
	return true;
}

/*
 * Is the last word the trace? `latency top TRACE` is `latency TRACE top`: a word that the analysis
 * takes is the trace only if no other word can be.
 */
static bool names_trace(const struct parse *parse)
{
	const struct words *words = &parse->out->words;

	return !parse->trace_at ||
	       (script_analysis_takes(words->items[0], words->items[parse->trace_at]) &&
		!script_analysis_takes(words->items[0], words->items[words->count - 1]));
}

/* Behind `run`: is the first word an analysis, and is a later word its trace? */
static void begin_script(struct parse *parse, int i)
{
	const struct cmd *cmd = parse->out->cmd;

	if (!cmd || strcmp(cmd->name, "run") != 0)
		return;
	if (parse->out->words.count == 1 && script_has_analysis(parse->out->words.items[0])) {
		parse->analysis = true;
		parse->raw_from = i + 1;
		parse->asks_itself = script_analysis_takes(parse->out->words.items[0], "--catalog");
	} else if (parse->analysis && names_trace(parse)) {
		parse->trace_at = parse->out->words.count - 1;
	}
}

static bool take_all(struct parse *parse, int n, char **words, struct error *err)
{
	for (int i = 0; i < n; i++) {
		const char *word = words[i];
		if (parse->analysis && word[0] == '-' && word[1] && !time_looks_negative(word)) {
			if (!take_of_analysis(parse, n, words, &i, err))
				return false;
			continue;
		}
		if (!parse->raw && strcmp(word, "--") == 0) {
			parse->raw = true;
			parse->last_list = NULL;
			parse->files = NULL;
			continue;
		}
		if (!parse->raw && word[0] == '-' && word[1] && !time_looks_negative(word)) {
			if (!take_option(parse, n, words, &i, err))
				return false;
			continue;
		}
		if (!command_known(parse)) {
			parse->last_list = NULL;
			if (!take_command(parse, word, err))
				return false;
			continue;
		}
		if (parse->files) {
			words_add(parse->files, word);
			continue;
		}
		add_word(parse, word);
		begin_script(parse, i);
		if (!parse->analysis)
			raw_after_script(parse);
		if (parse->raw && !parse->raw_from)
			parse->raw_from = i + 1;
	}
	return true;
}

static void word_remove(struct parse *parse, size_t i)
{
	struct words *words = &parse->out->words;

	words->count--;
	parse->nowner--;
	memmove(words->items + i, words->items + i + 1, (words->count - i) * sizeof *words->items);
	memmove(parse->owner + i, parse->owner + i + 1, (parse->nowner - i) * sizeof *parse->owner);
}

/* Moves words into the lists of options that they follow, until only `keep` words are left. */
static void give_to_lists(struct parse *parse, size_t keep)
{
	struct words *words = &parse->out->words;

	for (size_t i = 0; i < words->count && words->count > keep;) {
		if (!parse->owner[i]) {
			i++;
			continue;
		}
		words_add(parse->owner[i], words->items[i]);
		word_remove(parse, i);
	}
}

static bool wants_trace(const struct parse *parse)
{
	const struct options *out = parse->out;

	return !parse->in_prompt && out->cmd && !out->cmd->no_trace && !parse->no_trace &&
	       !parse->asks_itself;
}

static bool place_words(struct parse *parse, struct error *err)
{
	struct options *out = parse->out;
	const struct cmd *cmd = out->cmd;
	bool trace = wants_trace(parse);
	size_t at = cmd && strcmp(cmd->name, "run") == 0 ? 1 : 0; /* run SCRIPT TRACE */

	if (parse->analysis && trace && !parse->trace_at)
		return error_set(err, ERR_QUERY, "%s: TRACE is missing: yore %s TRACE",
				 out->words.items[0], out->words.items[0]);
	at = parse->analysis ? parse->trace_at : at;

	if (!cmd) {
		if (out->words.count)
			return error_set(err, ERR_QUERY,
					 "%s: a command is expected before two traces: "
					 "'yore help' lists them",
					 out->words.items[0]);
		return true;
	}
	if (cmd->max_words == 0)
		give_to_lists(parse, trace ? 1 : 0);
	if (trace && out->words.count > at) {
		out->trace = out->words.items[at];
		word_remove(parse, at);
	} else if (trace) {
		return error_set(err, ERR_QUERY, "%s: %s is missing: yore %s %s%s%s", cmd->name,
				 at && !out->words.count ? "SCRIPT" : "TRACE", cmd->name,
				 at ? "" : "TRACE", cmd->args[0] && !at ? " " : "", cmd->args);
	}
	return true;
}

static bool check_words(const struct parse *parse, struct error *err)
{
	const struct options *out = parse->out;
	const struct cmd *cmd = out->cmd;
	int count = (int)(out->words.count > INT_MAX ? INT_MAX : out->words.count);

	if (!cmd)
		return true;
	const char *trace = cmd->no_trace || parse->in_prompt ? "" : " TRACE";
	if (count < cmd->min_words && !out->list)
		return error_set(err, ERR_QUERY,
				 "%s: more is needed: %s%s%s%s: '%shelp %s' has examples",
				 cmd->name, cmd->name, trace, cmd->args[0] ? " " : "", cmd->args,
				 parse->in_prompt ? "" : "yore ", cmd->name);
	if (cmd->max_words >= 0 && count > cmd->max_words && !*trace && !cmd->args[0])
		return error_set(err, ERR_QUERY, "%s: '%s' is too much: it takes options alone",
				 cmd->name, out->words.items[cmd->max_words]);
	if (cmd->max_words >= 0 && count > cmd->max_words)
		return error_set(err, ERR_QUERY, "%s: '%s' is too much: %s%s%s%s", cmd->name,
				 out->words.items[cmd->max_words], cmd->name, trace,
				 cmd->args[0] ? " " : "", cmd->args);
	return true;
}

/* Each option must be in a group that the command takes. */
static bool check_groups(const struct parse *parse, int n, char **words, struct error *err)
{
	const struct cmd *cmd = parse->out->cmd;
	unsigned groups = groups_of(cmd);

	for (int i = 0; i < n; i++) {
		if (strcmp(words[i], "--") == 0 || (parse->raw_from && i >= parse->raw_from))
			break;
		if (words[i][0] != '-' || words[i][1] != '-')
			continue;
		const struct option *option = option_find(cmd, words[i], strcspn(words[i], "="));
		if (!option)
			break; /* the script's arguments */
		if (option->info.group && !(option->info.group & groups))
			return bad_option(parse, option->info.name, err);
		if (option->info.value && !strchr(words[i], '='))
			i++;
	}
	return true;
}

static bool parse_as(const struct cmd *cmd, int n, char **words, bool in_prompt,
		     struct options *out, struct error *err)
{
	struct parse parse = {.out = out, .in_prompt = in_prompt};
	size_t bytes = 1;

	*out = (struct options){.context = 10};
	set_command(out, cmd);
	for (int i = 0; i < n; i++)
		bytes += strlen(words[i]) + 1;
	out->memory = parse.copy = mem_new(bytes);
	bool ok = take_all(&parse, n, words, err);
	if (ok && !out->help && !out->version)
		ok = place_words(&parse, err) && check_groups(&parse, n, words, err) &&
		     check_words(&parse, err);
	if (ok && out->format == FORMAT_LINE && out->cmd && !(out->cmd->options & OPT_SQL))
		ok = error_set(err, ERR_QUERY, "--format: only 'sql' writes a line per value");
	if (!out->time_set && out->format == FORMAT_CSV)
		out->time = TIME_NS;
	mem_free(parse.owner);
	return ok;
}

bool options_parse(int n, char **words, bool in_prompt, struct options *out, struct error *err)
{
	return parse_as(NULL, n, words, in_prompt, out, err);
}

bool options_parse_of(const struct cmd *cmd, int n, char **words, struct options *out,
		      struct error *err)
{
	return parse_as(cmd, n, words, true, out, err);
}

unsigned options_threads(const struct options *options)
{
	return options->jobs ? options->jobs : processors();
}

void options_release(struct options *options)
{
	struct words *lists[] = {&options->words,   &options->with,   &options->offsets,
				 &options->rules,   &options->names,  &options->cpus,
				 &options->tids,    &options->pids,   &options->comms,
				 &options->streams, &options->wheres, &options->merge};

	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		mem_free(lists[i]->items);
	mem_free(options->memory);
	mem_free(options->own);
	*options = (struct options){0};
}
