/* cmd_attach.c - writes a session of a relay to a folder while it runs */
#include "live/mirror.h"
#include "repl/commands/cmds.h"
#include "repl/progress.h"
#include "repl/render/render.h"

#include <stdio.h>

enum { CONNECT_MS = 10000, REPLY_MS = 10000, RETRY_S = 60 };

struct connection_limits relay_limits(void *arg)
{
	return (struct connection_limits){.connect_ms = CONNECT_MS,
					  .reply_ms = REPLY_MS,
					  .stopped = signals_stopped,
					  .arg = arg};
}

static void cmd_attach_show(void *arg, const struct mirror_counts *counts)
{
	struct session *session = arg;
	char text[128];

	snprintf(text, sizeof text, "%llu packets, %llu bytes, %llu streams",
		 (unsigned long long)counts->packets, (unsigned long long)counts->bytes,
		 (unsigned long long)counts->streams);
	progress_text(session->progress, text);
}

static void cmd_attach_print(const struct options *options, struct sink *sink, const char *folder,
			     const struct mirror_counts *counts)
{
	if (options->format == FORMAT_JSON) {
		json_member_text(sink, "{\"folder\":", folder);
		sink_printf(
			sink,
			",\"ended\":%s,\"traces\":%llu,\"streams\":%llu,\"packets\":%llu,"
			"\"bytes\":%llu,\"known\":%llu,\"missing\":%llu,\"connections\":%llu}\n",
			counts->ended ? "true" : "false", (unsigned long long)counts->traces,
			(unsigned long long)counts->streams, (unsigned long long)counts->packets,
			(unsigned long long)counts->bytes, (unsigned long long)counts->known,
			(unsigned long long)counts->missing,
			(unsigned long long)counts->connections);
	} else {
		sink_name(sink, folder);
		sink_printf(sink, ": %llu packet%s of %llu stream%s, %llu bytes",
			    (unsigned long long)counts->packets, counts->packets == 1 ? "" : "s",
			    (unsigned long long)counts->streams, counts->streams == 1 ? "" : "s",
			    (unsigned long long)counts->bytes);
		if (counts->known)
			sink_printf(sink, "; %llu packet%s already there",
				    (unsigned long long)counts->known,
				    counts->known == 1 ? "" : "s");
		sink_text(sink, counts->ended ? "; the session has ended\n"
					      : "; the session has not ended\n");
	}
	sink_row(sink);
}

static bool run_attach(struct session *session, const struct options *options, struct sink *sink,
		       struct error *err)
{
	const char *folder = options->words.items[1];
	struct mirror_counts counts = {0};
	struct live_url url;
	struct mirror_options mirror = {
		.url = &url,
		.folder = folder,
		.retry_ms = (options->has_retry ? options->retry : RETRY_S) * 1000,
		.limits = relay_limits(session),
		.notices = session_notices(session),
		.progress = cmd_attach_show};

	if (!live_url_parse(options->words.items[0], true, &url, err))
		return false;
	bool ok = mirror_run(&mirror, &counts, err);
	progress_clear(session->progress);
	if (ok && !counts.connections)
		session_note(session,
			     "%s has all of session %s, which ended: the relay was not asked",
			     folder, url.session);
	else if (ok || counts.connections)
		cmd_attach_print(options, sink, folder, &counts);
	if (!ok && err->kind == ERR_INTERRUPTED)
		session_note(session, "interrupted: the same command goes on where %s ends",
			     folder);
	return ok;
}

const struct cmd cmd_attach = {
	/* clang-format off */
	.name = "attach",
	.args = "net://HOST[:PORT]/host/H/SESSION DIR",
	.summary = "mirrors a running session of a relay of LTTng into a folder",
	.help = "Attaches to the session SESSION of the traced host H, as 'yore sessions' lists\n"
		"it, and writes what the relay gives to DIR, from the session's beginning until it\n"
		"ends: an ordinary trace folder, that may be read meanwhile. A relay lets one\n"
		"viewer attach to a session; any number of readers may have the mirror.\n"
		"\n"
		"A connection that is lost is made again, for --retry seconds at most without\n"
		"anything new. Ended by Ctrl-C, a kill or a full disk, the same command goes on:\n"
		"nothing is lost as long as the relay has the session, and nothing is doubled.\n"
		"What 'lttng clear' removes at the relay stays in DIR. Where offsets of a stream\n"
		"begin anew, after a clear or with limited trace files, its packets go on in files\n"
		"with a number: ch0_0, ch0_0.1, ch0_0.2.\n"
		"\n"
		"Examples:\n"
		"  $ yore attach net://localhost/host/web1/requests /tmp/yore-requests\n"
		"  $ yore events /tmp/yore-requests --begin -1s\n",
	.options = OPT_FORMAT | OPT_ATTACH,
	.words = WORD_FILE,
	.min_words = 2,
	.max_words = 2,
	.no_trace = true,
	.run = run_attach,
}; /* clang-format on */
