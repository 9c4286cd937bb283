noinst_LIBRARIES += libengine.a
libengine_a_CFLAGS = $(AM_CFLAGS) $(SHARED_CFLAGS) $(XXHASH_CFLAGS) $(SECCOMP_CFLAGS) $(ZLIB_CFLAGS) \
	$(ZSTD_CFLAGS) $(DW_CFLAGS) $(JSON_CFLAGS) $(NETTLE_CFLAGS)
engine_libs = libengine.a $(engine_outside)
engine_outside = $(XXHASH_LIBS) $(SECCOMP_LIBS) $(ZLIB_LIBS) $(ZSTD_LIBS) $(DW_LIBS) \
	$(JSON_LIBS) $(NETTLE_LIBS) $(BZIP2_LIBS) \
	$(IPT_LIBS) $(IBERTY_LIBS) -lm
libengine_a_SOURCES = \
	%D%/ctf_own.c \
	%D%/ctf_own.h \
	%D%/base/arena.c \
	%D%/base/arena.h \
	%D%/base/bitset.h \
	%D%/base/prefetch.h \
	%D%/base/buf.c \
	%D%/base/buf.h \
	%D%/base/cursor.c \
	%D%/base/cursor.h \
	%D%/base/digits.h \
	%D%/base/disk_cache.c \
	%D%/base/disk_cache.h \
	%D%/base/varint.h \
	%D%/base/error.c \
	%D%/base/error.h \
	%D%/base/expansion.h \
	%D%/base/files.c \
	%D%/base/files.h \
	%D%/base/folder.c \
	%D%/base/folder.h \
	%D%/base/heap.h \
	%D%/base/helper.c \
	%D%/base/helper.h \
	%D%/base/hash_index.c \
	%D%/base/hash_index.h \
	%D%/base/budget.c \
	%D%/base/budget.h \
	%D%/base/large.c \
	%D%/base/large.h \
	%D%/base/inputs.c \
	%D%/base/inputs.h \
	%D%/base/mem.c \
	%D%/base/mem.h \
	%D%/base/new_file.c \
	%D%/base/new_file.h \
	%D%/base/nameset.c \
	%D%/base/nameset.h \
	%D%/base/nearest.c \
	%D%/base/nearest.h \
	%D%/base/paged.c \
	%D%/base/paged.h \
	%D%/base/quote.c \
	%D%/base/quote.h \
	%D%/base/search.h \
	%D%/base/source.c \
	%D%/base/source.h \
	%D%/base/source_internal.h \
	%D%/base/source_stamp.c \
	%D%/base/source_verify.c \
	%D%/base/temporary.c \
	%D%/base/temporary.h \
	%D%/base/thread_pool.c \
	%D%/base/thread_pool.h \
	%D%/base/wait.h \
	%D%/base/workers.c \
	%D%/base/workers.h \
	%D%/batch.c \
	%D%/growth.c \
	%D%/batch.h \
	%D%/block_decoder.c \
	%D%/block_decoder.h \
	%D%/clocks.c \
	%D%/clocks.h \
	%D%/detect.c \
	%D%/find_traces.c \
	%D%/find_traces.h \
	%D%/event.c \
	%D%/event.h \
	%D%/field.c \
	%D%/field.h \
	%D%/field_make.c \
	%D%/field_make.h \
	%D%/layout.c \
	%D%/layout.h \
	%D%/layout_fast.h \
	%D%/layout_internal.h \
	%D%/layout_run.c \
	%D%/packet.h \
	%D%/reader.h \
	%D%/timebase.c \
	%D%/timebase.h \
	%D%/timetext.c \
	%D%/timetext.h \
	%D%/trace.c \
	%D%/trace.h
include %D%/ctf/local.mk
include %D%/kernel/local.mk
include %D%/perf/local.mk
include %D%/ftrace/local.mk
include %D%/ovni/local.mk
include %D%/sel4/local.mk
include %D%/gdb/local.mk
# rows of events, for other programs: columns and JSON
libengine_a_SOURCES += \
	%D%/columns/column.c \
	%D%/columns/column.h \
	%D%/columns/json.c \
	%D%/columns/json.h \
	%D%/columns/ranges.c \
	%D%/columns/ranges.h \
	%D%/columns/shape.c \
	%D%/columns/shape.h \
	%D%/columns/sheet.c \
	%D%/columns/sheet.h \
	%D%/columns/sheet_fields.c \
	%D%/columns/sheet_fields.h
# raw hardware traces
libengine_a_SOURCES += \
	%D%/hwtrace/aux.c \
	%D%/hwtrace/aux.h \
	%D%/hwtrace/intel_pt.c \
	%D%/hwtrace/intel_pt.h
# which function is at an address
libengine_a_SOURCES += \
	%D%/symbols/symbols.c \
	%D%/symbols/symbols.h \
	%D%/symbols/tables/cache.c \
	%D%/symbols/dwarf/cfi.c \
	%D%/symbols/tables/elf.c \
	%D%/symbols/dwarf/expression.c \
	%D%/symbols/dwarf/inline.c \
	%D%/symbols/symbols_collected.c \
	%D%/symbols/symbols_frames.c \
	%D%/symbols/symbols_internal.h \
	%D%/symbols/tables/tables.h \
	%D%/symbols/dwarf/debug.h \
	%D%/symbols/symbols_kernel.c \
	%D%/symbols/dwarf/lines.c \
	%D%/symbols/symbols_object.c \
	%D%/symbols/symbols_space.c \
	%D%/symbols/tables/table.c \
	%D%/symbols/symbols_texts.c \
	%D%/symbols/symbols_unwind.c \
	%D%/symbols/dwarf/values.c \
	%D%/symbols/dwarf/variables.c
