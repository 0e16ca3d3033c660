#!/bin/sh
# Makes the man pages of what users run, from its help: a page per command of mrctl, and one per daemon.
#   sh man.sh BIN DIRECTORY VERSION     BIN: the built binaries
# Needs help2man.
set -eu
bin=$1; out=$2; version=$3
mkdir -p "$out"

# page PROGRAM NAME WORDS: the page NAME of `PROGRAM WORDS --help`; its first line is what the page says the command does.
page() {
  program=$1; name=$2; words=$3
  # Daemons begin with their form: "mrmaster --data DIR [flags]: the master of a Paceline cluster".
  about=$("$bin/$program" $words --help | sed -n -e "1{s/^$program [^:]*: //;s/[.:;].*//;p;}")
  help2man --no-info --no-discard-stderr --version-string="$version" --help-option="$words --help" \
    --name="$about" "$bin/$program" |
    sed -e "s/^\.TH [^ ]*/.TH $(echo "$name" | tr a-z A-Z)/" -e "/^\.SH NAME/{n;s/^[^ ]*/$name/;}" >"$out/$name.1.new"
  mv "$out/$name.1.new" "$out/$name.1"
}

# The commands that a help lists: below headings, in the third column.
commands() {
  "$bin/mrctl" $1 --help | awk '/^[^ ].*:$/ { lists = $0 != "Jobs:" && $0 != "Example:" } lists && /^  [a-z]/ { print $1 }'
}

page mrctl mrctl ""
for verb in $(commands ""); do
  page mrctl "mrctl-$verb" "$verb"
  for below in $(commands "$verb"); do page mrctl "mrctl-$verb-$below" "$verb $below"; done
done
for program in mrsim mrmaster mrworker; do
  [ ! -x "$bin/$program" ] || page $program $program ""
done
