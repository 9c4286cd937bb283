# lib: what others link. libyore opens traces and gives their events: the rooms engine, index
# and follow behind yore.h. libyore-state has the same and the room state, behind yore-state.h.
EXTRA_DIST += %D%/libyore.map %D%/libyore-state.map %D%/yore.pc.in %D%/yore-state.pc.in
include_HEADERS += yore.h yore-state.h
lib_LTLIBRARIES += libyore.la libyore-state.la
lib_reading = %D%/columns.c %D%/events.c %D%/fields.c %D%/follow.c %D%/lib_internal.h %D%/yore.c
lib_map = -Wl,--version-script=$(srcdir)/%D%/libyore.map
libyore_la_SOURCES = $(lib_reading)
lib_flags = $(AM_LDFLAGS) -shared -version-info 0:0:0 $(lib_map)
libyore_la_LDFLAGS = $(lib_flags) $(shared_follow) $(shared_index)
EXTRA_libyore_la_DEPENDENCIES = %D%/libyore.map libfollow.a liblive.a libindex.a libengine.a
libyore_state_la_SOURCES = $(lib_reading) %D%/state.c
libyore_state_la_LDFLAGS = $(lib_flags) \
	-Wl,--version-script=$(srcdir)/%D%/libyore-state.map $(shared_follow) $(shared_state)
EXTRA_libyore_state_la_DEPENDENCIES = %D%/libyore.map %D%/libyore-state.map \
	libfollow.a liblive.a libstate.a libindex.a libengine.a

# libyore.a is one object, in which every name but the exported ones is local: a program's own
# functions may have the names of the rooms'. Its parts are the objects of the shared library.
lib_archivedir = $(libdir)
nodist_lib_archive_DATA = libyore.a
CLEANFILES += libyore.a %D%/libyore-all.o
libyore.a: libyore.la
	$(AM_V_GEN)$(LD) -r -o %D%/libyore-all.o $(libyore_la_OBJECTS:%D%/%.lo=%D%/.libs/%.o) \
		libfollow.a liblive.a libindex.a libengine.a
	$(AM_V_at)$(OBJCOPY) --localize-hidden %D%/libyore-all.o
	$(AM_V_at)rm -f $@ && $(AR) cr $@ %D%/libyore-all.o && $(RANLIB) $@

# What a static link needs besides is what the rooms are linked with.
pkgconfigdir = $(libdir)/pkgconfig
nodist_pkgconfig_DATA = yore.pc yore-state.pc
CLEANFILES += yore.pc yore-state.pc
lib_pc = sed -e 's|@prefix[@]|$(prefix)|' -e 's|@exec_prefix[@]|$(exec_prefix)|' \
	-e 's|@libdir[@]|$(libdir)|' -e 's|@includedir[@]|$(includedir)|' \
	-e 's|@VERSION[@]|$(PACKAGE_VERSION)|' \
	-e 's|@PRIVATE[@]|$(index_outside) $(engine_outside)|' \
	-e 's|^\([a-z_]*dir\)=$(prefix)/|\1=$${prefix}/|' -e 's|^exec_prefix=$(prefix)$$|exec_prefix=$${prefix}|'

# Written anew where it would not be the same: `make install prefix=DIR` may name another prefix than configure did.
.PHONY: %D%/pc-anew
%D%/pc-anew:
yore.pc yore-state.pc: Makefile %D%/pc-anew
	$(AM_V_at)$(lib_pc) $(srcdir)/%D%/$@.in >$@.new && \
		if cmp -s $@.new $@; then rm -f $@.new; else mv -f $@.new $@; fi
