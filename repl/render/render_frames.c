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
#include "engine/base/mem.h"
#include "repl/render/render.h"

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

/*
 * A cache, since programs are sampled at the same places again and again. It compares names by
 * their addresses: `symbols` has one copy of each text.
 */
enum { PLACES_BITS = 9, PLACE_TEXT = 128 };

struct frame_text {
	const char *function, *object;
	uint64_t offset;
	bool is_inlined;
	uint8_t len; /* of the text; 0: the place is free */
	char text[PLACE_TEXT + COPY_PAD];
};

struct frame_texts {
	struct frame_text items[1 << PLACES_BITS];
};

struct frame_texts *places_new(void)
{
	return mem_new(sizeof(struct frame_texts));
}

static struct frame_text *symbol_place(struct frame_texts *places, const struct symbol *symbol)
{
	const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
	uint64_t hash = (uintptr_t)symbol->function + symbol->offset;

	hash = (hash * odd ^ (uintptr_t)symbol->object) * odd;
	return &places->items[hash >> (64 - PLACES_BITS)];
}

static bool is_place(const struct frame_text *place, const struct symbol *symbol)
{
	return place->len && place->function == symbol->function &&
	       place->object == symbol->object && place->offset == symbol->offset &&
	       place->is_inlined == symbol->is_inlined;
}

static void place_keep(struct frame_text *place, const struct symbol *symbol, const char *text,
		       size_t len)
{
	if (len > PLACE_TEXT)
		return;
	place->function = symbol->function;
	place->object = symbol->object;
	place->offset = symbol->offset;
	place->is_inlined = symbol->is_inlined;
	place->len = (uint8_t)len;
	memcpy(place->text, text, len);
}

/* Writes " NAME+0xOFFSET (OBJECT)" and a newline. */
static void text_names(struct sink *out, const struct symbol *symbol)
{
	const char *function = symbol->function ? symbol->function : "[unknown]";
	const char *object = symbol->is_inlined ? "inlined"
			     : symbol->object   ? symbol->object
						: "[unknown]";
	size_t nfunction = strlen(function), nobject = strlen(object);
	char *to = sink_room(out, 64 + nfunction + nobject);

	*to = ' ';
	to = mempcpy(to + 1, function, nfunction);
	if (symbol->function)
		to = hex_put(mempcpy(to, "+0x", 3), symbol->offset, 1);
	to = mempcpy(mempcpy(to, " (", 2), object, nobject);
	sink_end(out, mempcpy(to, ")\n", 2));
}

/* Writes the address, right-aligned in `width` (16 or 17), and the names there. */
static void text_place(struct sink *out, struct frame_texts *places, uint64_t address,
		       unsigned width, const struct symbol *symbol)
{
	struct frame_text *place = symbol_place(places, symbol);
	char *to = sink_room(out, 64 + sizeof place->text);

	*to = ' ';
	to = hex_put_right16(to + width - 16, address);
	if (is_place(place, symbol)) {
		sink_end(out, copy_padded(to, place->text, place->len));
	} else {
		sink_end(out, to);
		size_t from = out->len;
		text_names(out, symbol);
		place_keep(place, symbol, out->data + from, out->len - from);
	}
	if (symbol->file)
		text_source(out, symbol);
}

void text_address(struct sink *out, struct frame_texts *places, uint64_t address,
		  const struct symbol *symbol)
{
	text_place(out, places, address, 17, symbol);
}

void text_frames(struct sink *out, struct frame_texts *places, const struct frame *frames,
		 size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct symbol *symbol = &frames[i].symbol;
		sink_char(out, '\t');
		text_place(out, places, symbol->file_offset, 16, symbol);
	}
	sink_char(out, '\n');
}

void json_frames(struct sink *out, const struct frame *frames, size_t count)
{
	sink_char(out, '[');
	for (size_t i = 0; i < count; i++) {
		const struct symbol *symbol = &frames[i].symbol;
		sink_text(out, i ? ",{\"ip\":" : "{\"ip\":");
		sink_u64(out, frames[i].address);
		json_member_text(out, ",\"symbol\":", symbol->function);
		json_member_u64(out, ",\"offset\":", symbol->function, symbol->offset);
		json_member_text(out, ",\"object\":", symbol->object);
		if (symbol->is_inlined)
			sink_text(out, ",\"inlined\":true");
		if (symbol->file) {
			json_member_text(out, ",\"file\":", symbol->file);
			json_member_u64(out, ",\"line\":", true, symbol->line);
		}
		sink_char(out, '}');
	}
	sink_char(out, ']');
}
