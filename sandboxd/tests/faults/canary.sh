# Runs inside a sandbox that was set up while something went wrong, and looks for what does not hold. Says HELD, or what is open.
# Arguments: a folder outside, a protected file, a hidden file, the namespaces outside (as `kind:[number]` lines in one word), and
# the name of a file that the host has in /tmp.
outside=$1 protected=$2 hidden=$3 spaces=$4 tmp=$5
open=
(: > "$outside/escaped") 2>/dev/null && open="$open outside-is-writable"
(: >> "$protected") 2>/dev/null && open="$open protected-is-writable"
read -r secret < "$hidden" 2>/dev/null
[ -z "$secret" ] || open="$open hidden-is-readable"
for kind in user mnt pid ipc uts net cgroup; do
    own=$(readlink /proc/self/ns/$kind)
    case "$spaces" in *"$own"*) open="$open $kind-namespace-is-the-hosts" ;; esac
    [ -n "$own" ] || open="$open no-$kind-namespace-to-see"
done
while read -r key value rest; do
    case "$key" in
        CapInh: | CapPrm: | CapEff: | CapBnd: | CapAmb:) [ "$value" = 0000000000000000 ] || open="$open $key$value" ;;
        NoNewPrivs:) [ "$value" = 1 ] || open="$open no-new-privs-is-off" ;;
        Seccomp:) [ "$value" = 2 ] || open="$open seccomp-is-off" ;;
    esac
done < /proc/self/status
[ "$(ulimit -c)" -le 1 ] || open="$open core-files"
[ "$(ulimit -n)" = 1000 ] || open="$open no-limit-on-files"
[ ! -e "/tmp/$tmp" ] || open="$open tmp-is-the-hosts"
[ ! -e /dev/kmsg ] || open="$open dev-is-the-hosts"
[ ! -e /dev/mem ] || open="$open dev-is-the-hosts"
sys=$(grep ' /proc/sys ' /proc/self/mountinfo)
case "$sys" in *" /proc/sys ro,"*) ;; *) open="$open proc-sys-is-writable" ;; esac
for at in /run /dev /dev/shm; do
    grep -q " $at .* - tmpfs " /proc/self/mountinfo || open="$open $at-is-the-hosts"
done
read -r _ _ _ _ _ session _ < /proc/self/stat
[ "$session" -gt 1 ] || open="$open no-session-of-its-own"
for fd in /proc/$$/fd/*; do
    # dash keeps its script at 10.
    # The folder itself is open while its names are read.
    [ -L "$fd" ] || continue
    case "${fd##*/}" in 0 | 1 | 2 | 10 | 255) ;; *) open="$open descriptor-${fd##*/}" ;; esac
done
echo "${open:-HELD}"
