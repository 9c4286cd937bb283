/*
 * prompt_refresh.c - a trace that was written on while the prompt is open
 *
 * What is open knows each file as it was when it was opened. Before each answer the files are
 * looked at again; `refresh` opens all anew.
 */
#include "engine/base/source.h"
#include "repl/prompt/prompt_internal.h"

#include <inttypes.h>
#include <sys/stat.h>

/* How far files and folders are from what was opened. */
struct growth {
	uint64_t bytes;   /* that were added to files */
	uint64_t changes; /* files that were replaced or cut, folders with other files than then */
};

static bool stat_path(const char *path, struct stat *out)
{
	return stat(path, out) == 0;
}

static int64_t modified(const struct stat *info)
{
	return (int64_t)info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec;
}

static void add_source(const struct source *source, struct growth *growth)
{
	struct source_stamp stamp;
	struct stat now;

	(void)source_stamp(source, &stamp);
	if (!stamp.inode || !stat_path(source_name(source), &now))
		return;
	if ((uint64_t)now.st_ino != stamp.inode || (uint64_t)now.st_size < stamp.size)
		growth->changes++;
	else
		growth->bytes += (uint64_t)now.st_size - stamp.size;
}

/* Formats may keep all streams in one source: it counts once. */
static void add_streams(const struct trace *trace, struct growth *growth)
{
	const struct source *last = NULL;

	for (size_t i = 0; i < trace->nstreams; i++)
		for (uint32_t k = 0; k < trace->streams[i]->nsources; k++) {
			const struct source *source = trace->streams[i]->sources[k];

			if (source != last)
				add_source(source, growth);
			last = source;
		}
}

/* When the folders of the trace were changed last, folded. */
static uint64_t folders_stamp(const struct trace *trace)
{
	uint64_t fold = 0;
	struct stat now;

	for (size_t i = 0; i < trace->nparts; i++)
		if (stat_path(trace->parts[i]->path, &now) && S_ISDIR(now.st_mode))
			fold = fold * 31 + (uint64_t)modified(&now);
	return fold;
}

void prompt_opened(struct prompt *prompt)
{
	const struct trace *trace = prompt->session->trace;

	prompt->folders = trace ? folders_stamp(trace) : 0;
	prompt->grown_told = 0;
}

static struct growth growth_of(const struct prompt *prompt)
{
	const struct trace *trace = prompt->session->trace;
	struct growth growth = {0};

	if (!trace)
		return growth;
	add_streams(trace, &growth);
	growth.changes += folders_stamp(trace) != prompt->folders;
	return growth;
}

void prompt_tell_growth(struct prompt *prompt)
{
	struct growth growth = growth_of(prompt);
	uint64_t now = growth.bytes * 31 + growth.changes;

	if (now == prompt->grown_told || !now)
		return;
	prompt->grown_told = now;
	if (growth.bytes)
		session_note(prompt->session,
			     "the trace grew by %" PRIu64
			     " bytes since it was opened: 'refresh' takes "
			     "them up",
			     growth.bytes);
	else
		session_note(prompt->session, "files of the trace are others than when it was "
					      "opened: 'refresh' opens it anew");
}

bool prompt_reopen(struct prompt *prompt, bool (*open)(struct session *session, struct error *err),
		   struct error *err)
{
	if (!scripting_drop_trace(prompt->scripting, err))
		return false;
	completer_forget(prompt->completer);
	prompt->at_event = false; /* its place may be another one's now */
	bool opened = open(prompt->session, err) && scripting_take_trace(prompt->scripting, err);
	prompt_opened(prompt);
	return opened;
}

bool prompt_refresh(struct prompt *prompt, int nwords, char **words, struct error *err)
{
	if (nwords > 1)
		return error_set(err, ERR_QUERY, "refresh: '%s' is too much, it takes no words",
				 words[1]);
	if (!prompt->session->path)
		return error_set(err, ERR_QUERY, "no trace is open");
	if (!prompt_reopen(prompt, session_reopen, err) || !prompt_add_range(prompt, "", err))
		return false;
	sink_row(&prompt->sink);
	return true;
}
