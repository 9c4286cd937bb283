# lua-lib: the binding is in the program and, with the rooms below it, in a module for plain Lua
noinst_LIBRARIES += libscript.a
libscript_a_CFLAGS = $(AM_CFLAGS) $(SHARED_CFLAGS)
script_libs = libscript.a libfollow.a liblive.a $(oneliner_libs) $(LUA_LIBS)
bindings = \
	%D%/binding/bind.h \
	%D%/binding/bind_base.c \
	%D%/binding/bind_calls.c \
	%D%/binding/bind_column.c \
	%D%/binding/bind_column.h \
	%D%/segments/bind_count.c \
	%D%/binding/bind_cursor.c \
	%D%/binding/bind_cursor.h \
	%D%/binding/bind_batch.c \
	%D%/binding/bind_event.c \
	%D%/binding/bind_expr.c \
	%D%/binding/bind_field.c \
	%D%/binding/event_reader.c \
	%D%/binding/event_reader.h \
	%D%/segments/bind_groups.c \
	%D%/segments/bind_intervals.c \
	%D%/binding/bind_oneliner.c \
	%D%/segments/bind_pairs.c \
	%D%/segments/bind_pairs.h \
	%D%/segments/bind_pairs_options.c \
	%D%/segments/pair_records.c \
	%D%/segments/pair_records.h \
	%D%/binding/bind_resample.c \
	%D%/segments/bind_segments.c \
	%D%/segments/bind_segments.h \
	%D%/segments/bind_rows.c \
	%D%/binding/bind_stack.c \
	%D%/binding/bind_stack.h \
	%D%/binding/bind_state.c \
	%D%/binding/bind_time.c \
	%D%/binding/bind_trace.c \
	%D%/module.c \
	%D%/segments/segments.c \
	%D%/segments/segments.h \
	%D%/segments/segments_group.c
libscript_a_SOURCES = \
	$(bindings) \
	%D%/binding/bind_drawing.c \
	%D%/bind_files.c \
	%D%/bind_parts.c \
	%D%/bind_traces.c \
	%D%/binding/bind_follow.c \
	%D%/script.c \
	%D%/script.h \
	%D%/script_analyses.c \
	%D%/script_command.c \
	%D%/script_internal.h \
	%D%/script_memory.c \
	%D%/script_memory.h \
	%D%/script_run.c \
	%D%/script_table.c
# pictures: style and scripts are files of their own, inside the library
libscript_a_SOURCES += \
	%D%/drawing/drawing.c \
	%D%/drawing/drawing.h
nodist_libscript_a_SOURCES = %D%/drawing/parts.c
drawing_parts = \
	%D%/drawing/chart.js \
	%D%/drawing/flamegraph.js \
	%D%/drawing/patterns.xml \
	%D%/drawing/picture.css \
	%D%/drawing/picture.js \
	%D%/drawing/timeline.js
EXTRA_DIST += $(drawing_parts) %D%/drawing/embed.awk
CLEANFILES += %D%/drawing/parts.c
%D%/drawing/parts.c: $(drawing_parts) %D%/drawing/embed.awk
	$(AM_V_GEN)$(MKDIR_P) %D%/drawing && \
	$(AWK) -f $(srcdir)/%D%/drawing/embed.awk $(drawing_parts:%=$(srcdir)/%) > $@.tmp && mv $@.tmp $@
libscript_a_CPPFLAGS = $(AM_CPPFLAGS) $(LUA_CFLAGS)

# Lua's own symbols come from the interpreter that loads it.
luamoddir = $(libdir)/lua/5.4
luamod_LTLIBRARIES = %D%/yore.la
lua_lib_yore_la_SOURCES =
lua_lib_yore_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared \
	-Wl,--version-script=$(srcdir)/%D%/yore.map -Wl,-u,luaopen_yore \
	-Wl,libscript.a $(shared_oneliner) $(shared_follow) $(shared_state)
EXTRA_lua_lib_yore_la_DEPENDENCIES = %D%/yore.map libscript.a liboneliner.a libaggregate.a libfollow.a liblive.a libstate.a libindex.a libengine.a
EXTRA_DIST += %D%/yore.map

luadatadir = $(pkgdatadir)/lua
dist_luadata_DATA = \
	%D%/compare.lua \
	%D%/cputop.lua \
	%D%/critical-path.lua \
	%D%/first.lua \
	%D%/flamegraph.lua \
	%D%/gaps.lua \
	%D%/io.lua \
	%D%/irq.lua \
	%D%/latency.lua \
	%D%/locks.lua \
	%D%/memtop.lua \
	%D%/migrations.lua \
	%D%/offcpu.lua \
	%D%/periods.lua \
	%D%/sched.lua \
	%D%/switches.lua \
	%D%/syscalls.lua \
	%D%/top.lua
luamoredatadir = $(luadatadir)/yore
dist_luamoredata_DATA = \
	%D%/yore/analysis.lua \
	%D%/yore/baseline.lua \
	%D%/yore/basics.lua \
	%D%/yore/causes.lua \
	%D%/yore/chain.lua \
	%D%/yore/change.lua \
	%D%/yore/differ.lua \
	%D%/yore/draw.lua \
	%D%/yore/frames.lua \
	%D%/yore/json.lua \
	%D%/yore/kernel.lua \
	%D%/yore/lami.lua \
	%D%/yore/many.lua \
	%D%/yore/report.lua \
	%D%/yore/shares.lua \
	%D%/yore/show.lua \
	%D%/yore/side.lua \
	%D%/yore/summary.lua \
	%D%/yore/sums.lua \
	%D%/yore/threads.lua \
	%D%/yore/units.lua \
	%D%/yore/waits.lua
