# Each room's tests are listed beside them; `make check` runs all.
EXTRA_DIST += %D%/harness.h %D%/shell.sh
EXTRA_DIST += %D%/oracle # tests import from it, too
dist_check_SCRIPTS += \
	%D%/circles.py \
	%D%/external_names.sh \
	%D%/layers.sh \
	%D%/names.py \
	%D%/walks.sh
AM_TESTS_ENVIRONMENT = srcdir='$(srcdir)' top_builddir='$(top_builddir)' \
	YORE_CORPUS="$${YORE_CORPUS-$(abs_srcdir)/../shared/corpus}" \
	YORE_LUA_DIR='$(abs_srcdir)/lua-lib' YORE_JOBS_MOST=64; \
	export srcdir top_builddir YORE_CORPUS YORE_LUA_DIR YORE_JOBS_MOST;
TEST_LDADD = $(engine_libs) $(CMOCKA_LIBS)

include tests/engine/local.mk
include tests/extending/local.mk
include tests/index/local.mk
include tests/state/local.mk
include tests/aggregate/local.mk
include tests/oneliner/local.mk
include tests/sql/local.mk
include tests/convert/local.mk
include tests/lib/local.mk
include tests/duckdb/local.mk
include tests/live/local.mk
include tests/remote/local.mk
include tests/repl/local.mk
include tests/attack/local.mk
include tests/fuzz/local.mk
include tests/lua/local.mk
