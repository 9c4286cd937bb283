# lib: libyore, what others link: the rooms up to state behind yore.h; no readline, no Lua
lib_LTLIBRARIES += libyore.la
include_HEADERS += yore.h
libyore_la_SOURCES = %D%/yore.c
libyore_la_LIBADD = libstate.la libindex.la libengine.la
libyore_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -export-symbols-regex '^yore_'

pkgconfigdir = $(libdir)/pkgconfig
nodist_pkgconfig_DATA = yore.pc
