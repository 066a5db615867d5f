#!/bin/sh
# All that the Vagrantfile runs, in its order, on a machine that already has the kernel with the radios.
set -eu
here=$(dirname "$0")
for part in system environment mininet-wifi pacelab notebooks; do
    began=$(date +%s)
    sh "$here/$part.sh"
    echo "provision: $part, $(($(date +%s) - began)) s"
done
