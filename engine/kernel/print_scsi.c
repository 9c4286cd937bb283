/*
 * print_scsi.c - prints a SCSI command block as the kernel's scsi_trace_parse_cdb() does
 *
 * The first byte is the command; numbers are big-endian. An unknown or incomplete command is "-".
 */
#include "engine/base/cursor.h"
#include "engine/kernel/print.h"

enum {
	WRITE_SAME_10 = 0x41,
	UNMAP = 0x42,
	VARIABLE_LENGTH = 0x7f,
	WRITE_SAME_16 = 0x93,
	SERVICE_ACTION_IN_16 = 0x9e
};

/* Places of numbers in commands that read or write blocks. */
struct blocks {
	uint8_t command[4]; /* 0: there are fewer */
	uint8_t len;        /* bytes of the command */
	uint8_t lba, lba_bytes, count, count_bytes;
	uint8_t flags; /* the byte whose upper three bits are the protection; 0: there is none */
};

static const struct blocks blocks[] = {
	{{0x08, 0x0a}, 6, 1, 3, 4, 1, 0},                       /* READ, WRITE */
	{{0x28, 0x2a, 0x2f, WRITE_SAME_10}, 10, 2, 4, 7, 2, 1}, /* READ, WRITE, VERIFY */
	{{0xa8, 0xaa, 0xaf}, 12, 2, 4, 6, 4, 1},
	{{0x88, 0x8a, 0x8f, WRITE_SAME_16}, 16, 2, 8, 10, 4, 1},
};
static const struct blocks blocks32 = {{VARIABLE_LENGTH}, 32, 12, 8, 28, 4, 10};

static void print_scsi_add_number(struct buf *out, const char *before, uint64_t value)
{
	buf_add_text(out, before);
	print_decimal(out, false, value);
}

static void blocks_text(struct buf *out, const struct blocks *of, const uint8_t *cdb)
{
	uint64_t lba = load_be(cdb + of->lba, of->lba_bytes);
	uint64_t count = load_be(cdb + of->count, of->count_bytes);

	if (!of->flags) { /* of 21 bits, and 0 blocks are 256 */
		lba &= 0x1fffff;
		count = count ? count : 256;
	}
	print_scsi_add_number(out, "lba=", lba);
	print_scsi_add_number(out, " txlen=", count);
	if (of->flags)
		print_scsi_add_number(out, " protect=", cdb[of->flags] >> 5);
}

static const struct blocks *find_blocks(uint8_t command)
{
	for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
		if (command && memchr(blocks[i].command, command, sizeof blocks[i].command))
			return &blocks[i];
	return NULL;
}

static bool variable_text(struct buf *out, const uint8_t *cdb, size_t len)
{
	static const struct {
		uint16_t action;
		const char *name;
	} actions[] = {{9, "READ"}, {10, "VERIFY"}, {11, "WRITE"}, {13, "WRITE_SAME"}};
	uint64_t action = len < blocks32.len ? 0 : load_be(cdb + 8, 2);

	for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
		if (actions[i].action != action)
			continue;
		buf_add_text(out, actions[i].name);
		buf_add_text(out, "_32 ");
		blocks_text(out, &blocks32, cdb);
		print_scsi_add_number(out, " ei_lbrt=", load_be(cdb + 20, 4));
		if (action == 13)
			print_scsi_add_number(out, " unmap=", cdb[10] >> 3 & 1);
		return true;
	}
	return false;
}

static bool action_in_text(struct buf *out, const uint8_t *cdb, size_t len)
{
	uint8_t action = len < 16 ? 0 : cdb[1] & 0x1f;

	if (len < 16)
		return false;
	if (action != 0x10 && action != 0x12) {
		buf_add_text(out, "UNKNOWN");
		return true;
	}
	buf_add_text(out, action == 0x10 ? "READ_CAPACITY_16" : "GET_LBA_STATUS");
	print_scsi_add_number(out, " lba=", load_be(cdb + 2, 8));
	print_scsi_add_number(out, " alloc_len=", load_be(cdb + 10, 4));
	return true;
}

static bool command_text(struct buf *out, const uint8_t *cdb, size_t len)
{
	const struct blocks *of = len ? find_blocks(cdb[0]) : NULL;

	if (of && len >= of->len) {
		blocks_text(out, of, cdb);
		if (cdb[0] == WRITE_SAME_10 || cdb[0] == WRITE_SAME_16)
			print_scsi_add_number(out, " unmap=", cdb[1] >> 3 & 1);
		return true;
	}
	if (len >= 10 && cdb[0] == UNMAP) {
		print_scsi_add_number(out, "regions=", ((uint32_t)load_be(cdb + 7, 2) - 8) / 16);
		return true;
	}
	if (len && cdb[0] == SERVICE_ACTION_IN_16)
		return action_in_text(out, cdb, len);
	return len && cdb[0] == VARIABLE_LENGTH && variable_text(out, cdb, len);
}

void print_scsi(struct buf *out, const uint8_t *cdb, size_t len)
{
	if (!command_text(out, cdb, len))
		buf_add_char(out, '-');
}
