/*
 * chrome_stacks.c - stack frames of the Trace Event Format: each with its caller, once
 *
 *     "stackFrames":{"1":{"name":"main","category":"/usr/bin/demo"},"2":{"name":"work","parent":"1",...}}
 *
 * An event names its innermost frame ("sf":2). A frame is a function, the object that it is in, and
 * the frame that called it; a function without a name is its place in the object.
 */
#include "convert/chrome_stacks.h"

#include "aggregate/groups.h"
#include "engine/base/mem.h"
#include "engine/columns/json.h"
#include "state/model/value.h"

enum { FRAME_PARENT, FRAME_NAME, FRAME_OBJECT, FRAME_KEYS };

struct chrome_stacks {
	struct groups frames;
	struct buf text; /* of all of them */
	struct buf name; /* of the one that is looked for */
};

struct chrome_stacks *chrome_stacks_new(void)
{
	struct chrome_stacks *stacks = mem_new(sizeof *stacks);

	stacks->frames = (struct groups){.nkeys = FRAME_KEYS};
	return stacks;
}

void chrome_stacks_free(struct chrome_stacks *stacks)
{
	if (!stacks)
		return;
	groups_clear(&stacks->frames);
	buf_release(&stacks->text);
	buf_release(&stacks->name);
	mem_free(stacks);
}

static void add_entry(struct buf *out, uint64_t number, uint64_t parent, const char *name,
		      const char *object)
{
	buf_printf(out, "%s\n\"%llu\":{\"name\":", number > 1 ? "," : "",
		   (unsigned long long)number);
	json_add_text(out, name);
	if (*object) {
		buf_add_text(out, ",\"category\":");
		json_add_text(out, object);
	}
	if (parent)
		buf_printf(out, ",\"parent\":\"%llu\"", (unsigned long long)parent);
	buf_add_char(out, '}');
}

static uint64_t frame_of(struct chrome_stacks *stacks, uint64_t parent, const struct frame *frame)
{
	const struct symbol *symbol = &frame->symbol;
	const char *object = symbol->object ? symbol->object : "";
	struct buf *name = &stacks->name;
	size_t before = stacks->frames.count;

	buf_clear(name);
	if (symbol->function)
		buf_add_text(name, symbol->function);
	else
		buf_printf(name, "0x%llx",
			   (unsigned long long)(symbol->object ? symbol->file_offset
							       : frame->address));
	const struct value keys[FRAME_KEYS] = {[FRAME_PARENT] = value_u64(parent),
					       [FRAME_NAME] = value_text(name->data, name->len),
					       [FRAME_OBJECT] = value_text(object, strlen(object))};
	uint64_t number = groups_at(&stacks->frames, keys)->number + UINT64_C(1);
	if (stacks->frames.count > before)
		add_entry(&stacks->text, number, parent, buf_text(name), object);
	return number;
}

uint64_t chrome_stacks_number(struct chrome_stacks *stacks, const struct frame *frames,
			      size_t count)
{
	uint64_t number = 0;

	while (count > 1 && !frames[count - 1].address)
		count--; /* where unwinding ended: no function */
	while (count)
		number = frame_of(stacks, number, &frames[--count]);
	return number;
}

void chrome_stacks_write(const struct chrome_stacks *stacks, struct buf *out)
{
	buf_add(out, stacks->text.data, stacks->text.len);
}
