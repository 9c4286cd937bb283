EXTRA_DIST += docs/architecture.md docs/ctf.md docs/recording.md docs/performance.md docs/time.md
EXTRA_DIST += docs/index-format.md
EXTRA_DIST += docs/analyses.md docs/compare.md docs/lua.md
dist_man_MANS += docs/yore-rules.5 docs/yore-sql.7
EXTRA_DIST += docs/sql.md
EXTRA_DIST += docs/rules.md
dist_man_MANS += docs/yore.1 docs/libyore.3 docs/yore-lua.3
EXTRA_DIST += docs/library.md docs/fuzzing.md
EXTRA_DIST += docs/aux.md docs/convert.md
EXTRA_DIST += docs/symbols.md docs/pictures.md docs/tutorial.md docs/cookbook.md
EXTRA_DIST += docs/trace-dat.md
EXTRA_DIST += docs/sel4.md docs/gdb.md
EXTRA_DIST += docs/shards.md
EXTRA_DIST += docs/attacks.md
EXTRA_DIST += docs/perf-data.md
EXTRA_DIST += docs/ovni.md
EXTRA_DIST += docs/timelines.md docs/do.md
EXTRA_DIST += docs/performance/figures.json docs/performance/ratios.svg docs/performance/streams.svg \
	docs/performance/attributes-that-live.svg docs/performance/threads.svg \
	docs/performance/size-of-a-trace.svg
EXTRA_DIST += docs/glossary.md docs/extending.md docs/design/formats.md docs/design/index.md \
	docs/design/fast-paths.md docs/design/output.md docs/design/state.md
