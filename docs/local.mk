EXTRA_DIST += docs/architecture.md docs/ctf.md docs/recording.md docs/speed.md docs/time.md
EXTRA_DIST += docs/index-format.md
EXTRA_DIST += docs/lua.md
dist_man_MANS += docs/yore-rules.5
EXTRA_DIST += docs/rules.md
dist_man_MANS += docs/yore.1
EXTRA_DIST += docs/aux.md
EXTRA_DIST += docs/symbols.md
