/*
 * render_frames.c - the frames of a call chain, as perf script prints them
 *
 *     \tffffffff821ecc51 do_syscall_64+0x71 ([kernel.kallsyms])
 *     \t           2092a fstatat64+0xa (/usr/lib/x86_64-linux-gnu/libc.so.6)
 *
 *     \t            1475 std::sort<int*>+0x13f (inlined)
 *
 * A user address is shown by its offset in the file that was mapped there; a blank line ends the
 * chain. With source lines, "  file.c:25" follows the frame on a line of its own.
 */
#include "repl/render.h"

#include <string.h>

static void text_source(struct sink *out, const struct symbol *symbol)
{
	const char *slash = strrchr(symbol->file, '/');

	sink_text(out, "  ");
	sink_text(out, slash ? slash + 1 : symbol->file);
	sink_char(out, ':');
	sink_u64(out, symbol->line);
	sink_char(out, '\n');
}

static void text_name(struct sink *out, const struct symbol *symbol)
{
	const char *object = symbol->object ? symbol->object : "[unknown]";

	sink_char(out, ' ');
	sink_text(out, symbol->function ? symbol->function : "[unknown]");
	if (symbol->function) {
		sink_text(out, "+0x");
		sink_hex(out, symbol->offset, 1);
	}
	sink_text(out, " (");
	sink_text(out, symbol->is_inlined ? "inlined" : object);
	sink_char(out, ')');
}

static void text_frame(struct sink *out, const struct frame *frame)
{
	const struct symbol *symbol = &frame->symbol;
	uint64_t shown = symbol->file_offset;
	unsigned digits = (67 - (unsigned)__builtin_clzll(shown | 1)) / 4;

	sink_char(out, '\t');
	sink_pad(out, 16 - digits);
	sink_hex(out, shown, digits);
	text_name(out, symbol);
	sink_char(out, '\n');
	if (symbol->file)
		text_source(out, symbol);
}

void text_address(struct sink *out, const struct frame *frame)
{
	unsigned digits = (67 - (unsigned)__builtin_clzll(frame->address | 1)) / 4;

	sink_pad(out, 17 - digits);
	sink_hex(out, frame->address, digits);
	text_name(out, &frame->symbol);
	sink_char(out, '\n');
	if (frame->symbol.file)
		text_source(out, &frame->symbol);
}

void text_frames(struct sink *out, const struct frame *frames, size_t count)
{
	for (size_t i = 0; i < count; i++)
		text_frame(out, &frames[i]);
	sink_char(out, '\n');
}

void json_frames(struct sink *out, const struct frame *frames, size_t count)
{
	sink_char(out, '[');
	for (size_t i = 0; i < count; i++) {
		const struct symbol *symbol = &frames[i].symbol;
		sink_text(out, i ? ",{\"ip\":" : "{\"ip\":");
		sink_u64(out, frames[i].address);
		sink_text(out, ",\"symbol\":");
		json_text(out, symbol->function);
		sink_text(out, ",\"offset\":");
		if (symbol->function)
			sink_u64(out, symbol->offset);
		else
			sink_text(out, "null");
		sink_text(out, ",\"object\":");
		json_text(out, symbol->object);
		if (symbol->is_inlined)
			sink_text(out, ",\"inlined\":true");
		if (symbol->file) {
			sink_text(out, ",\"file\":");
			json_text(out, symbol->file);
			sink_text(out, ",\"line\":");
			sink_u64(out, symbol->line);
		}
		sink_char(out, '}');
	}
	sink_char(out, ']');
}
