libengine_a_SOURCES += \
	%D%/ovni_classes.c \
	%D%/ovni_clocks.c \
	%D%/ovni_decode.c \
	%D%/describe.c \
	%D%/find.c \
	%D%/ovni_metadata.c \
	%D%/ovni_open.c \
	%D%/ovni_internal.h \
	%D%/ovni_scan.c \
	%D%/ovni_text.c

# What the models' events are called, say and hold: one table per model
ovni_models = \
	%D%/models/ovni.model \
	%D%/models/nosv.model \
	%D%/models/nanos6.model \
	%D%/models/nodes.model \
	%D%/models/openmp.model \
	%D%/models/mpi.model \
	%D%/models/tampi.model \
	%D%/models/kernel.model
nodist_libengine_a_SOURCES = %D%/models.c
EXTRA_DIST += $(ovni_models) %D%/models.awk
CLEANFILES += %D%/models.c
%D%/models.c: $(ovni_models) %D%/models.awk
	$(AM_V_GEN)$(MKDIR_P) %D% && $(AWK) -f $(srcdir)/%D%/models.awk \
		$(ovni_models:%=$(srcdir)/%) > $@.tmp && mv $@.tmp $@
