# Run by the client, as its user: OWN-HOST PATIENCE MOST-BYTES COMMAND HOST...
# Runs COMMAND on each HOST at the same time, and prints for each, in their order: its exit code, a zero byte, what it
# has printed, a zero byte, the end of its errors, a zero byte.
own=$1 patience=$2 most=$3 command=$4
shift 4
dir=$(mktemp -d) || exit
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' HUP INT TERM
n=0
for host; do
  n=$((n + 1))
  {
    # A MiB in blocks: what a host sends as its errors must not fill the disk.
    ulimit -f 2048
    if [ "$host" = "$own" ]; then
      timeout --foreground -k 1 "$patience" sh -c "$command"
    else
      # BatchMode: nobody could answer ten questions for passwords at a time.
      timeout --foreground -k 1 "$patience" ssh -T -o BatchMode=yes -- "$host" "$command"
    fi
    echo $? > "$dir/$n.code"
  } < /dev/null 2> "$dir/$n.errors" | head -c "$most" | tr -d '\000' > "$dir/$n.out" &
done
wait
n=0
for host; do
  n=$((n + 1))
  printf '%s\000' "$(cat "$dir/$n.code")"
  cat "$dir/$n.out"
  printf '\000'
  tail -c 1000 "$dir/$n.errors" | tr -d '\000'
  printf '\000'
done
