#!/bin/sh
# A page of section 8 in roff, made of what a daemon prints for --help: daemon_page.sh PROGRAM VERSION SUMMARY
set -eu
name=$(basename "$1")
upper=$(printf %s "$name" | tr '[:lower:]' '[:upper:]')
escape() { sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/'/\\\\(aq/g" -e 's/^\./\\\&./'; }
printf '.TH %s 8 "" "gangway %s" "Gangway"\n.SH NAME\n%s \\- %s\n.SH DESCRIPTION\n.nf\n' "$upper" "$2" "$name" "$3"
"$1" --help | escape
printf '.fi\n.SH SEE ALSO\ngangway.yaml(5), gangway(1), gcontrol(1)\n'
