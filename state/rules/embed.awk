# Writes rule files as constant C text. The first comment line of a file is its summary; the second may
# be "# format: FORMAT", of the only traces that it is for.
BEGIN { print "/* made from the rule files */\n#include \"state/rules/rules.h\"\n" }
FNR == 1 {
	if (count)
		print ";\n"
	name = FILENAME
	sub(/.*\//, "", name)
	sub(/\.rules$/, "", name)
	names[count++] = name
	summary[name] = $0
	sub(/^# */, "", summary[name])
	gsub(/["\\]/, "\\\\&", summary[name])
	print "static const char text_" name "[] ="
}
FNR == 2 && /^# format: / {
	format[name] = $3
}
{
	gsub(/\\/, "\\\\")
	gsub(/"/, "\\\"")
	gsub(/\t/, "\\t")
	print "\t\"" $0 "\\n\""
}
END {
	print ";\n\nstatic const struct rules_builtin sets[] = {"
	for (i = 0; i < count; i++)
		print "\t{\"" names[i] "\", \"" summary[names[i]] "\", text_" names[i] ", \"" format[names[i]] "\"},"
	print "};\n\nconst struct rules_builtin *rules_builtins(size_t *count)\n{"
	print "\t*count = sizeof sets / sizeof *sets;\n\treturn sets;\n}"
}
