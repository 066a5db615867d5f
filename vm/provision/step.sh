#!/bin/sh
# Runs one step of provisioning, a script in this folder: step.sh NAME. If the step fails, prints the cause and what to do,
# and exits with the step's code. A failure of Mininet-WiFi is only printed, because everything else works without it.
# Without a name: runs all steps of the Vagrantfile, in its order, on a machine that already has the kernel with the radios.
set -u
here=$(cd "$(dirname "$0")" && pwd)
if [ $# -eq 0 ]; then
    for part in system environment pacelab notebooks mininet-wifi; do
        sh "$0" $part || exit
    done
    exit 0
fi
name=$1
case $name in
    system) title="Debian packages" && hosts=$(grep -rhoE 'https?://[^/ ]+' /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null | sort -u) ;;
    environment) title="Python packages" && hosts="https://pypi.org https://files.pythonhosted.org" ;;
    pacelab) title="PaceLab" && hosts="http://deb.debian.org https://static.rust-lang.org https://index.crates.io https://static.crates.io https://pypi.org" ;;
    notebooks) title="the notebooks" && hosts= ;;
    mininet-wifi) title="Mininet-WiFi" && hosts="https://github.com https://codeload.github.com https://pypi.org https://files.pythonhosted.org" ;;
    *) echo "step.sh: no step $name" >&2 && exit 2 ;;
esac

# Checks whether a host answers, by its URL.
answers() {
    address=${1#*://}
    case $1 in https:*) port=443 ;; *) port=80 ;; esac
    timeout 10 bash -c "exec 3<>/dev/tcp/$address/$port" 2>/dev/null
}

# The cause of a failed step, in one line.
blame() {
    if [ "$(df --output=avail -k / | tail -n 1)" -lt 300000 ]; then
        echo "the machine's disk is full (df -h /): vagrant destroy, and vagrant up with a larger box"
        return
    fi
    for host in $hosts; do
        if ! answers "$host"; then
            echo "${host#*://} does not answer (no network, or one that lets no ${host%%:*} through)"
            return
        fi
    done
    echo "see the messages above"
}

began=$(date +%s)
echo "PaceLab: $title"
sh "$here/$name.sh"
code=$?
if [ $code -eq 0 ]; then
    echo "PaceLab: $title: installed, $(($(date +%s) - began)) s"
    exit 0
fi
echo "PaceLab: $title: failed; $(blame). Downloads are kept; to continue: vagrant provision" >&2
[ "$name" != mininet-wifi ] || { echo "PaceLab: the lab works without Mininet-WiFi" >&2; exit 0; }
exit $code
