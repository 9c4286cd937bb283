/*
 * intel_pt.c - Intel PT packets by libipt, a window of the bytes at a time
 *
 * libipt needs contiguous bytes: a window. When a packet or the pattern of a PSB may cross the
 * window's end, a new window begins at it.
 *
 *     begin |......PSB|pkt|pkt|pkt|~~~~~~|PSB|pkt|pkt  ...| end
 *            skipped,   rows        no packet: skipped
 *            no PSB yet             up to the next PSB
 */
#include "engine/hwtrace/intel_pt.h"

#include "engine/base/mem.h"

#include <intel-pt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { WINDOW = 1 << 20, PSB_SIZE = 16 };

struct intel_pt {
	struct source *source;
	uint64_t end;
	uint64_t pos;       /* of the next packet, or where the search for a PSB continues */
	uint64_t skip_from; /* while not synchronized: first byte without a row */
	int cause;          /* libipt's error that led to skipping; 0: no PSB yet */
	bool synchronized;
	struct block block; /* the window; data NULL: none */
	uint64_t block_at;
	struct pt_packet_decoder *decoder; /* over the window, from somewhere in it */
	bool has_tsc;
	uint64_t tsc;
};

struct intel_pt *intel_pt_open(struct source *source, uint64_t begin, uint64_t end)
{
	struct intel_pt *pt = mem_new(sizeof *pt);

	pt->source = source;
	pt->pos = pt->skip_from = begin;
	pt->end = end;
	return pt;
}

static void drop_decoder(struct intel_pt *pt)
{
	pt_pkt_free_decoder(pt->decoder);
	pt->decoder = NULL;
}

static void drop_window(struct intel_pt *pt)
{
	drop_decoder(pt);
	if (pt->block.data)
		source_put(&pt->block);
	pt->block = (struct block){0};
}

void intel_pt_close(struct intel_pt *pt)
{
	if (!pt)
		return;
	drop_window(pt);
	mem_free(pt);
}

static uint64_t window_end(const struct intel_pt *pt)
{
	return pt->block_at + pt->block.size;
}

/* Gets a window with the byte at pt->pos. */
static bool get_window(struct intel_pt *pt, struct error *err)
{
	uint64_t left = pt->end - pt->pos;

	if (pt->block.data)
		return true;
	if (!source_get(pt->source, pt->pos, left < WINDOW ? (size_t)left : WINDOW, &pt->block,
			err)) {
		pt->block = (struct block){0};
		return false;
	}
	pt->block_at = pt->pos;
	return true;
}

/* Makes a synchronized decoder at pt->pos. */
static bool get_decoder(struct intel_pt *pt, struct error *err)
{
	struct pt_config config;

	if (pt->decoder)
		return true;
	if (!get_window(pt, err))
		return false;
	pt_config_init(&config);
	/* the library only reads; its pointers are not const */
	config.begin = (uint8_t *)(uintptr_t)(pt->block.data + (pt->pos - pt->block_at));
	config.end = (uint8_t *)(uintptr_t)(pt->block.data + pt->block.size);
	pt->decoder = pt_pkt_alloc_decoder(&config);
	if (!pt->decoder)
		return error_set(err, ERR_FORMAT, "%s: libipt takes no trace from byte %llu",
				 source_name(pt->source), (unsigned long long)pt->pos);
	pt_pkt_sync_set(pt->decoder, 0);
	return true;
}

/* Makes the row of the bytes skipped up to pt->pos; false: none were. */
static bool skipped(struct intel_pt *pt, struct pt_row *out)
{
	if (pt->skip_from == pt->pos)
		return false;
	*out = (struct pt_row){.at = pt->skip_from,
			       .size = pt->pos - pt->skip_from,
			       .name = "skipped",
			       .damaged = pt->cause != 0};
	snprintf(out->text, sizeof out->text, "%s",
		 pt->cause ? pt_errstr(pt_errcode(pt->cause)) : "no PSB yet");
	pt->skip_from = pt->pos;
	return true;
}

/*
 * Moves to the next PSB, or to the end. The bytes of a PSB are those of the Intel SDM, volume 3,
 * "Packet Stream Boundary (PSB) Packet". Does not use pt_pkt_sync_forward(), which in libipt 2.0.5
 * reads past the end of a buffer that ends within the pattern.
 */
static bool synchronize(struct intel_pt *pt, struct error *err)
{
	static const uint8_t psb[PSB_SIZE] = {2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
					      2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82};

	while (pt->pos < pt->end) {
		if (!get_window(pt, err))
			return false;
		uint64_t end = window_end(pt);
		const uint8_t *from = pt->block.data + (pt->pos - pt->block_at);
		const uint8_t *found = memmem(from, (size_t)(end - pt->pos), psb, sizeof psb);
		if (found) {
			pt->pos += (uint64_t)(found - from);
			pt->synchronized = true;
			drop_decoder(pt); /* the next one begins here */
			return true;
		}
		if (end == pt->end)
			pt->pos = end;
		else if (end - (PSB_SIZE - 1) > pt->pos)
			pt->pos = end - (PSB_SIZE - 1);
		drop_window(pt);
	}
	return true;
}

static void mode_text(const struct pt_packet_mode *mode, struct pt_row *out)
{
	static const char *const widths[] = {[ptem_unknown] = "unknown",
					     [ptem_16bit] = "16",
					     [ptem_32bit] = "32",
					     [ptem_64bit] = "64"};

	if (mode->leaf == pt_mol_exec)
		snprintf(out->text, sizeof out->text, "exec %s",
			 widths[pt_get_exec_mode(&mode->bits.exec)]);
	else
		snprintf(out->text, sizeof out->text, "tsx intx %u abrt %u", mode->bits.tsx.intx,
			 mode->bits.tsx.abrt);
}

static const char *const names[] = {
	[ppt_invalid] = "invalid", [ppt_unknown] = "unknown", [ppt_pad] = "pad",
	[ppt_psb] = "psb",         [ppt_psbend] = "psbend",   [ppt_fup] = "fup",
	[ppt_tip] = "tip",         [ppt_tip_pge] = "tip.pge", [ppt_tip_pgd] = "tip.pgd",
	[ppt_tnt_8] = "tnt.8",     [ppt_tnt_64] = "tnt.64",   [ppt_mode] = "mode",
	[ppt_pip] = "pip",         [ppt_vmcs] = "vmcs",       [ppt_cbr] = "cbr",
	[ppt_tsc] = "tsc",         [ppt_tma] = "tma",         [ppt_mtc] = "mtc",
	[ppt_cyc] = "cyc",         [ppt_stop] = "stop",       [ppt_ovf] = "ovf",
	[ppt_mnt] = "mnt",         [ppt_exstop] = "exstop",   [ppt_mwait] = "mwait",
	[ppt_pwre] = "pwre",       [ppt_pwrx] = "pwrx",       [ppt_ptw] = "ptw",
};

static void payload_text(const struct pt_packet *packet, struct pt_row *out)
{
	char *to = out->text;
	size_t n = sizeof out->text;

	switch (packet->type) {
	case ppt_fup:
	case ppt_tip:
	case ppt_tip_pge:
	case ppt_tip_pgd:
		snprintf(to, n, "ipc %d ip 0x%" PRIx64, (int)packet->payload.ip.ipc,
			 packet->payload.ip.ip);
		break;
	case ppt_tnt_8:
	case ppt_tnt_64:
		snprintf(to, n, "bits %d payload 0x%" PRIx64, packet->payload.tnt.bit_size,
			 packet->payload.tnt.payload);
		break;
	case ppt_mode:
		mode_text(&packet->payload.mode, out);
		break;
	case ppt_pip:
		snprintf(to, n, "cr3 0x%" PRIx64 " nr %u", packet->payload.pip.cr3,
			 packet->payload.pip.nr);
		break;
	case ppt_vmcs:
		snprintf(to, n, "base 0x%" PRIx64, packet->payload.vmcs.base);
		break;
	case ppt_cbr:
		snprintf(to, n, "ratio %u", packet->payload.cbr.ratio);
		break;
	case ppt_tsc:
		snprintf(to, n, "tsc %" PRIu64, packet->payload.tsc.tsc);
		break;
	case ppt_tma:
		snprintf(to, n, "ctc 0x%x fc 0x%x", packet->payload.tma.ctc,
			 packet->payload.tma.fc);
		break;
	case ppt_mtc:
		snprintf(to, n, "ctc 0x%x", packet->payload.mtc.ctc);
		break;
	case ppt_cyc:
		snprintf(to, n, "cyc %" PRIu64, packet->payload.cyc.value);
		break;
	case ppt_mnt:
		snprintf(to, n, "payload 0x%" PRIx64, packet->payload.mnt.payload);
		break;
	case ppt_exstop:
		snprintf(to, n, "ip %u", packet->payload.exstop.ip);
		break;
	case ppt_mwait:
		snprintf(to, n, "hints 0x%x ext 0x%x", packet->payload.mwait.hints,
			 packet->payload.mwait.ext);
		break;
	case ppt_pwre:
		snprintf(to, n, "state %u sub %u hw %u", packet->payload.pwre.state,
			 packet->payload.pwre.sub_state, packet->payload.pwre.hw);
		break;
	case ppt_pwrx:
		snprintf(to, n, "last %u deepest %u interrupt %u store %u autonomous %u",
			 packet->payload.pwrx.last, packet->payload.pwrx.deepest,
			 packet->payload.pwrx.interrupt, packet->payload.pwrx.store,
			 packet->payload.pwrx.autonomous);
		break;
	case ppt_ptw:
		snprintf(to, n, "payload 0x%" PRIx64 " ip %u", packet->payload.ptw.payload,
			 packet->payload.ptw.ip);
		break;
	case ppt_invalid:
	case ppt_unknown:
	case ppt_pad:
	case ppt_psb:
	case ppt_psbend:
	case ppt_stop:
	case ppt_ovf:
		break;
	}
}

static void take_packet(struct intel_pt *pt, const struct pt_packet *packet, struct pt_row *out)
{
	*out = (struct pt_row){.at = pt->pos, .size = packet->size};
	out->name = (size_t)packet->type < sizeof names / sizeof *names ? names[packet->type]
									: "unknown";
	payload_text(packet, out);
	if (packet->type == ppt_tsc) {
		pt->has_tsc = true;
		pt->tsc = packet->payload.tsc.tsc;
	}
	out->has_tsc = pt->has_tsc;
	out->tsc = pt->tsc;
	pt->pos += packet->size;
	pt->skip_from = pt->pos;
}

enum step intel_pt_next(struct intel_pt *pt, struct pt_row *out, struct error *err)
{
	struct pt_packet packet;

	for (;;) {
		if (!pt->synchronized) {
			if (!synchronize(pt, err))
				return STEP_ERROR;
			if (skipped(pt, out))
				return STEP_ITEM;
		}
		if (pt->pos >= pt->end)
			return STEP_END;
		if (!get_decoder(pt, err))
			return STEP_ERROR;
		int got = pt_pkt_next(pt->decoder, &packet, sizeof packet);
		if (got > 0) {
			packet.size = (uint8_t)got;
			take_packet(pt, &packet, out);
			return STEP_ITEM;
		}
		if (got == -pte_eos && window_end(pt) < pt->end) {
			drop_window(pt); /* the next one begins with this packet */
			continue;
		}
		pt->synchronized = pt->has_tsc = false;
		pt->cause = got;
		drop_decoder(pt);
	}
}

bool intel_pt_time(const struct aux_kind *kind, uint64_t tsc, uint64_t *out)
{
	if (!kind->has_time || kind->time_shift >= 64)
		return false;
	uint64_t whole = tsc >> kind->time_shift;
	uint64_t rest = tsc & ((UINT64_C(1) << kind->time_shift) - 1);
	*out = kind->time_zero + whole * kind->time_mult +
	       (rest * kind->time_mult >> kind->time_shift);
	return true;
}
