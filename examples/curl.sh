#!/bin/sh
# An agent that is controlled by a shell script: a pump that must keep a tank neither dry nor full.
#
#   everlearn serve --data DIR &
#   sh curl.sh [STEPS [URL]]
#
# Needs curl, sed and awk. Where the service asks for a token: EVERLEARN_TOKEN=... sh curl.sh
set -eu

steps=${1:-200}
url=${2:-http://127.0.0.1:8321}
name=${EVERLEARN_AGENT:-pump}

call() { # METHOD PATH [JSON]: print the answer; fail where it is not a good one
    curl --silent --show-error --fail-with-body --max-time 10 --retry 3 --retry-connrefused \
        --request "$1" --header 'Content-Type: application/json' \
        --header "Authorization: Bearer ${EVERLEARN_TOKEN:-none}" ${3:+--data "$3"} "$url/v1/agents$2"
}

field() { # NAME JSON: print the last field of that name, a number or a string
    printf '%s' "$2" | sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"
}

call POST '' '{"name": "'"$name"'", "setup": {
    "actions": ["off", "on"], "observations": ["dry", "low", "high", "full"], "aleatoric": "last",
    "reward": "given", "reward_range": [-0.3, 1], "schedule": "smooth", "seed": 1}}' >/dev/null

answer=$(call POST "/$name/act" '{}')
step=$(field step "$answer")
action=$(field action "$answer")
litres=50
total=0
taken=0

while [ "$taken" -lt "$steps" ]; do
    # What the pump does, what the town draws, and what that is worth.
    drawn=$(awk -v n="$step" 'BEGIN { srand(n); print int(rand() * 20) }')
    [ "$action" = on ] && litres=$((litres + 15))
    litres=$((litres - drawn))
    [ "$litres" -lt 0 ] && litres=0
    [ "$litres" -gt 100 ] && litres=100
    observation=full
    [ "$litres" -le 90 ] && observation=high
    [ "$litres" -le 30 ] && observation=low
    [ "$litres" -eq 0 ] && observation=dry
    reward=$(awk -v o="$observation" -v a="$action" 'BEGIN { print (o == "low" || o == "high") - 0.3 * (a == "on") }')

    # Tell it, and ask for the next action. Repeated with the same step, this changes nothing: --retry is safe.
    sent="{\"step\": $step, \"observation\": \"$observation\", \"executed\": \"$action\", \"reward\": $reward}"
    answer=$(call POST "/$name/step" "$sent")
    step=$(field step "$answer")
    action=$(field action "$answer")
    total=$(awk -v t="$total" -v r="$reward" 'BEGIN { print t + r }')
    taken=$((taken + 1))
done

awk -v t="$total" -v n="$steps" 'BEGIN { printf "%.3f per step over %d steps\n", t / n, n }'
call GET "/$name/policy"
echo
