/* prompt_banner.c - the banner of a prompt on a terminal, and the text before each line */
#include "live/mirror.h"
#include "repl/commands/info.h"
#include "repl/prompt/prompt_internal.h"

#include "engine/reader.h"

#include <string.h>
#include <unistd.h>

bool prompt_add_range(struct prompt *prompt, const char *before, struct error *err)
{
	struct sink *sink = &prompt->sink;
	struct times times;
	nstime first, last;

	if (!session_bounds(prompt->session, &first, &last, err) ||
	    !session_times(prompt->session, &times, err))
		return false;
	sink_text(sink, before);
	time_add(&times, first, sink);
	sink_text(sink, " to ");
	time_add(&times, last, sink);
	sink_text(sink, ", ");
	time_span_add(&times, time_span(first, last), sink);
	sink_char(sink, '\n');
	return true;
}

/* Writes which attributes are known, in lines as wide as the terminal. */
static void add_questions(struct prompt *prompt, struct sink *sink)
{
	static const char begin[] = "  knows ";
	struct capabilities can = {0};
	struct error ignored;
	size_t known = 0, at = strlen(begin), most = terminal_columns(STDOUT_FILENO);

	if (capabilities_find(prompt->session, &can, &ignored))
		for (size_t i = 0; i < can.count; i++) {
			size_t len = strlen(can.items[i].path);
			if (!can.items[i].known)
				continue;
			bool full = known && at + 3 + len > most;
			sink_text(sink, !known ? begin : full ? ",\n" : ", ");
			if (full)
				sink_pad(sink, strlen(begin));
			sink_text(sink, can.items[i].path);
			at = (full || !known ? strlen(begin) : at + 2) + len;
			known++;
		}
	if (known)
		sink_char(sink, '\n');
	capabilities_release(&can);
}

/* For a mirror that is being written: how far it has come, and how far behind the clock it is. */
static void add_live(struct prompt *prompt, struct sink *sink)
{
	struct session *session = prompt->session;
	struct info_live live;
	struct error ignored;

	if (!session->path || !mirror_goes_on(session->path) ||
	    !info_live_find(session, &(struct beside){0}, &live, &ignored))
		return;
	sink_printf(sink, "  the recording goes on: %llu packet%s, %llu bytes",
		    (unsigned long long)live.packets, live.packets == 1 ? "" : "s",
		    (unsigned long long)live.bytes);
	if (live.has_wall) {
		sink_text(sink, ", ");
		info_live_span(live.behind, sink);
		sink_text(sink, " behind the wall clock");
	}
	sink_text(sink, "; 'refresh' takes up what comes\n");
}

void prompt_banner(struct prompt *prompt)
{
	const struct trace *trace = prompt->session->trace;
	struct sink *sink = &prompt->sink;
	struct error ignored;

	if (!trace || prompt->session->options->quiet)
		return;
	const struct part *part = trace->parts[0];
	sink_printf(sink, "%s: %s%s%s, %zu stream%s, %zu event classes\n", prompt->session->path,
		    part->reader->format, part->version ? " " : "",
		    part->version ? part->version : "", trace->nstreams,
		    trace->nstreams == 1 ? "" : "s", trace_listed_classes(trace));
	MAY_FAIL(prompt_add_range(prompt, "  ", &ignored)); /* a banner without it */
	add_live(prompt, sink);
	add_questions(prompt, sink);
	sink_text(
		sink,
		"'help' lists commands, SELECT ... is SQL, other lines are Lua; Tab completes.\n");
	sink_row(sink);
	sink_flush(sink);
}

/* Appends "yore 00:35:20.8 [00:35:20.7 to 00:35:21.0]> ": moment and range, if they are set. */
void prompt_text(struct prompt *prompt, struct buf *out)
{
	const struct session *session = prompt->session;
	struct times times;
	struct error ignored;

	buf_clear(out);
	if (prompt->chunk.len || prompt->statement.len) {
		buf_add_text(out, "  ... ");
		return;
	}
	buf_add_text(out, "yore");
	if ((session->has_moment || session->has_range) &&
	    session_times(prompt->session, &times, &ignored)) {
		if (session->has_moment) {
			buf_add_char(out, ' ');
			time_add_buf(&times, session->moment, out);
		}
		if (session->has_range) {
			buf_add_text(out, " [");
			time_add_buf(&times, session->begin, out);
			buf_add_text(out, " to ");
			time_add_buf(&times, session->end, out);
			buf_add_char(out, ']');
		}
	}
	buf_add_text(out, "> ");
}
