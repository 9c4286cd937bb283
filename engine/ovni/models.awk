# models.awk - the tables of models (models/*.model) as C, as rules (-v rules=1), as the tables of
# docs/ovni.md (-v doc=1), or as Paraver's numbers of values (-v paraver=1)
#
# A line of a table is MCV[+](ARGUMENTS), a tab, a description, and maybe a tab and what the event
# does to the state of its thread. "+" is a jumbo event; "%{NAME}" in a description is an argument,
# "%x{NAME}" in hex. Two MCVs are a pair: the description begins "enters/leaves", the second word
# padded to the length of the first, as ovnidump does, and the state NAME NUMBER VALUE is pushed and
# popped; the number is Paraver's. Alone it is "push NAME NUMBER VALUE", "pop ..." or "set ...";
# "each NAME ARGUMENT COUNT" sets NAME[0] and so on to the elements of an argument.
BEGIN { FS = "\t"; OFS = "" }

function quoted(text)
{
	gsub(/\\/, "\\\\", text)
	gsub(/"/, "\\\"", text)
	return "\"" text "\""
}

function c_arguments(list,    n, i, parts, words, out)
{
	n = split(list, parts, /, */)
	out = n ", {"
	for (i = 1; i <= n; i++) {
		split(parts[i], words, " ")
		if (words[2] ~ /[.][.][.]$/) {
			sub(/[.][.][.]$/, "", words[2])
			words[1] = words[1] "s"
		}
		out = out (i > 1 ? ", " : "") "{" quoted(words[2]) ", OVNI_" toupper(words[1]) "}"
	}
	return out "}"
}

# What the thread at `key` does, seen from `path`: a value, or the top of a stack.
function add_view(path, key, how, name,    from)
{
	from = "thread[" key "]/" model "/" name
	views = views "view " path "/" model "/" name " = " \
		(how == "set" ? from : "top(" from "_stack)") "\n"
}

function rule(mcv, what,    words, value, i)
{
	if (what == "")
		return
	split(what, words, " ")
	value = substr(what, length(words[1] words[2] words[3]) + 4)
	print "event \"", mcv, "\""
	if (words[1] == "each") {
		for (i = 0; i < words[4]; i++)
			print "\tthread[section/tid]/", model, "/", words[2], "[", i, "] = payload/", words[3], \
				"[", i, "] when has(payload/", words[3], "[", i, "])"
		return
	}
	if (words[1] == "set")
		print "\tthread[section/tid]/", model, "/", words[2], " = ", quoted(value)
	else if (words[1] == "push") {
		print "\tpush thread[section/tid]/", model, "/", words[2], "_stack = ", quoted(value)
		print "\tpush thread[section/tid]/stack = ", quoted(model ": " value)
	} else {
		print "\tpop thread[section/tid]/", model, "/", words[2], "_stack"
		print "\tpop thread[section/tid]/stack"
	}
	if (!((model, words[2]) in seen)) {
		seen[model, words[2]] = 1
		if (words[1] != "set")
			add_view("thread[?t]", "?t", words[1], words[2])
		add_view("loom[?l]/cpu[?c]", "loom[?l]/cpu[?c]/thread", words[1], words[2])
		add_view("cpu[?c]", "cpu[?c]/thread", words[1], words[2])
	}
}

function number(what,    words)
{
	split(what, words, " ")
	if (words[1] == "" || words[1] == "each" || (model, words[2], words[3]) in seen)
		return
	seen[model, words[2], words[3]] = 1
	print "\t{", quoted(model "/" words[2]), ", ", words[3], ", ",
		quoted(substr(what, length(words[1] words[2] words[3]) + 4)), "},"
}

function document()
{
	print "| `", $1, "` | ", $2, " | ", $3, " |"
}

function event(mcv, list, text, what,    jumbo)
{
	jumbo = sub(/[+]$/, "", mcv)
	if (rules)
		return rule(mcv, what)
	if (paraver)
		return number(what)
	print "\t{\"", mcv, "\", ", jumbo ? "true" : "false", ", ", list == "" ? "0, {{0}}" : c_arguments(list),
		", ", quoted(text), "},"
}

function close_model()
{
	if (model != "" && is_c)
		print "};\n"
}

BEGIN { is_c = !rules && !doc && !paraver }
BEGIN { if (is_c) print "/* made from models/ */\n#include \"engine/ovni/ovni_internal.h\"\n" }
/^#/ || /^$/ { next }
$1 == "model" {
	close_model()
	model = $2
	if (rules)
		print "\n# ", $5, "\n"
	if (doc)
		print "\n### ", $2, " ", $4, ": ", $5, "\n\n| event | description | state |\n|---|---|---|"
	if (is_c)
		print "static const struct ovni_event events_", model, "[] = {"
	all = all "\t{" quoted(model) ", '" $3 "', " quoted($4) ", " quoted($5) ", events_" model \
		", sizeof events_" model " / sizeof *events_" model "},\n"
	next
}
doc { document(); next }
{
	list = ""
	head = $1
	if (match(head, /\(.*\)$/)) {
		list = substr(head, RSTART + 1, RLENGTH - 2)
		head = substr(head, 1, RSTART - 1)
	}
	if (head !~ / /) {
		event(head, list, $2, $3)
		next
	}
	split(head, two, " ")
	match($2, /^[a-z]+\/[a-z]+/)
	split(substr($2, 1, RLENGTH), verbs, "/")
	rest = substr($2, RLENGTH + 1)
	event(two[1], list, verbs[1] rest, $3 == "" ? "" : "push " $3)
	event(two[2], list, sprintf("%-" length(verbs[1]) "s", verbs[2]) rest, $3 == "" ? "" : "pop " $3)
}
END {
	close_model()
	if (rules)
		printf "\n# The same of the thread that runs on a CPU\n\n%s", views
	if (is_c)
		print "const struct ovni_model ovni_models[] = {\n", all,
			"};\nconst size_t ovni_nmodels = sizeof ovni_models / sizeof *ovni_models;"
}
