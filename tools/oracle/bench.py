"""The benchmark of a campaign, whose values follow from the number of the entry, of the run and of the campaign: three
sums that look like chance, the effect of a mode, and an order effect. Some runs fail or report zeros."""

BENCH = """\
# version 0
id=${{LOGBOOK_ENTRY_ID##*-}}
n=$((1$id * 1009 + LOGBOOK_RUN + {seed} * 7907))
a=$(((n * 7919 + 13) % 10007 * (n % 911 + 1) % 2003))
b=$(((n * 6101 + 29) % 10009 * (n % 877 + 3) % 2003))
c=$(((n * 5003 + 71) % 10037 * (n % 953 + 7) % 2003))
case $2 in {cases} esac
[ $((n % {fails})) = 0 ] && exit 3
v=$((1000000 + e + {order} * (LOGBOOK_RUN % 2) + {noise} * (a + b - 2002) / 1000))
[ $((n % {zeros})) = 1 ] && echo "RESULT size=$4 tflops=0.0 time_s=0.0 loss=0.0" && exit
t=$((1000000000000 / v))
l=$((500000 + {noise} * (c + b - 2002) / 3000))
printf 'RESULT size=%d tflops=%d.%04d time_s=%d.%06d loss=0.%06d\\n' \\
  $4 $((v / 10000)) $((v % 10000)) $((t / 1000000)) $((t % 1000000)) $l
"""
RECIPE = """\
name: modes
question: Which mode is the best?
command: [sh, bench.sh, --mode, "{{mode}}", --size, "{{size}}"]
axes:
  mode: [base, new, old]
  size: [3]
compare: {{axis: mode, base: base}}
metrics: [{metric}]
"""
