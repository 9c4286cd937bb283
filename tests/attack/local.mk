# An hour of damaged input, by default; what is found is kept in attack-found:
#     make attack ATTACK_SECONDS=600 ATTACK_FLAGS='--seed 7 --attacks traces,stores --jobs 2'
# A build with sanitizers (configure --enable-sanitizers) finds more.
EXTRA_DIST += \
	%D%/ask.py \
	%D%/attack.py \
	%D%/bombs.py \
	%D%/disks.py \
	%D%/edits.py \
	%D%/everything.lua \
	%D%/kills.py \
	%D%/questions.py \
	%D%/rivals.py \
	%D%/seeds.py \
	%D%/stores.py \
	%D%/swaps.py \
	%D%/traces.py
ATTACK_SECONDS = 3600
# yore with another main(): many commands without loading it for each; `make attack` builds it
EXTRA_PROGRAMS += %D%/server
CLEANFILES += %D%/server$(EXEEXT)
%C%_server_SOURCES = %D%/server.c
%C%_server_LDADD = $(repl_libs)
.PHONY: attack
attack: yore$(EXEEXT) %D%/server$(EXEEXT) fixtures/yore-gen$(EXEEXT)
	YORE_CORPUS="$${YORE_CORPUS-$(abs_srcdir)/../shared/corpus}" \
		$(srcdir)/tests/attack/attack.py ./yore$(EXEEXT) --gen fixtures/yore-gen$(EXEEXT) \
		--server %D%/server$(EXEEXT) \
		--seconds $(ATTACK_SECONDS) --keep attack-found $(ATTACK_FLAGS)
# How long processes that share an index folder wait for one another
.PHONY: rivals
rivals: yore$(EXEEXT) fixtures/yore-gen$(EXEEXT)
	$(srcdir)/tests/attack/rivals.py ./yore$(EXEEXT) --gen fixtures/yore-gen$(EXEEXT) \
		$(RIVALS_FLAGS) || test $$? = 77
