# lib: what others link. libyore opens traces and gives their events: the rooms engine and index
# behind yore.h. libyore-state has the same and the room state, behind yore-state.h.
EXTRA_DIST += %D%/libyore.map %D%/libyore-state.map %D%/yore.pc.in %D%/yore-state.pc.in
include_HEADERS += yore.h yore-state.h
lib_LTLIBRARIES += libyore.la libyore-state.la
lib_reading = %D%/events.c %D%/fields.c %D%/lib_internal.h %D%/yore.c
lib_map = -Wl,--version-script=$(srcdir)/%D%/libyore.map
libyore_la_SOURCES = $(lib_reading)
libyore_la_LIBADD = libindex.la libengine.la
libyore_la_LDFLAGS = $(AM_LDFLAGS) -shared -version-info 0:0:0 $(lib_map)
EXTRA_libyore_la_DEPENDENCIES = %D%/libyore.map
libyore_state_la_SOURCES = $(lib_reading) %D%/state.c
libyore_state_la_LIBADD = libstate.la libindex.la libengine.la
libyore_state_la_LDFLAGS = $(libyore_la_LDFLAGS) \
	-Wl,--version-script=$(srcdir)/%D%/libyore-state.map
EXTRA_libyore_state_la_DEPENDENCIES = %D%/libyore.map %D%/libyore-state.map

# libyore.a is one object, in which every name but the exported ones is local: a program's own
# functions may have the names of the rooms'. Its parts are the objects of the shared library.
lib_archivedir = $(libdir)
nodist_lib_archive_DATA = libyore.a
CLEANFILES += libyore.a %D%/libyore-all.o
libyore.a: libyore.la
	$(AM_V_GEN)$(LD) -r -o %D%/libyore-all.o $(libyore_la_OBJECTS:%D%/%.lo=%D%/.libs/%.o) \
		$(libyore_la_LIBADD:%.la=.libs/%.a)
	$(AM_V_at)$(OBJCOPY) --localize-hidden %D%/libyore-all.o
	$(AM_V_at)rm -f $@ && $(AR) cr $@ %D%/libyore-all.o && $(RANLIB) $@

# What a static link needs besides is what the rooms are linked with.
pkgconfigdir = $(libdir)/pkgconfig
nodist_pkgconfig_DATA = yore.pc yore-state.pc
CLEANFILES += yore.pc yore-state.pc
lib_pc = sed -e 's|@prefix[@]|$(prefix)|' -e 's|@exec_prefix[@]|$(exec_prefix)|' \
	-e 's|@libdir[@]|$(libdir)|' -e 's|@includedir[@]|$(includedir)|' \
	-e 's|@VERSION[@]|$(PACKAGE_VERSION)|' \
	-e 's|@PRIVATE[@]|$(libindex_la_LIBADD) $(libengine_la_LIBADD)|' \
	-e 's|^\([a-z_]*dir\)=$(prefix)/|\1=$${prefix}/|' -e 's|^exec_prefix=$(prefix)$$|exec_prefix=$${prefix}|'

# Written anew where it would not be the same: `make install prefix=DIR` may name another prefix than configure did.
.PHONY: %D%/pc-anew
%D%/pc-anew:
yore.pc yore-state.pc: Makefile %D%/pc-anew
	$(AM_V_at)$(lib_pc) $(srcdir)/%D%/$@.in >$@.new && \
		if cmp -s $@.new $@; then rm -f $@.new; else mv -f $@.new $@; fi
