#!/bin/sh
# nightly.sh [YYYY-MM-DD]: sends to the people of one night. Run it every ten minutes: what is done is not done twice.
night=${1:-$(date -u +%F)}
name=orders-$night
[ -e "$name.done" ] && exit 0

try() { # 75 means "try later", which the next run does; any other failure is told, and all but 3 end the job
    drumbeat "$@" --quiet >"$name.log" 2>&1
    code=$?
    case $code in 0 | 75) ;; *) cat "$name.log" >&2; [ "$code" = 3 ] || exit "$code" ;; esac
}

try campaign apply nightly.toml --name "$name" --audience "$name.csv"
[ "$code" = 75 ] && exit 0
try campaign run "$name" --until "${night}T22:00:00Z" --max-failed 2%
[ "$code" = 75 ] && exit 0
sent=$code
try campaign retry "$name" --failed         # 75: there is nobody whom a retry may help
if [ "$code" = 0 ]; then
    try campaign run "$name/retry-1" --until "${night}T23:00:00Z"
    [ "$code" = 75 ] && exit 0
fi
: >"$name.done"
exit "$sent"
