#!/bin/sh
# All that the Vagrantfile runs, in its order, on a machine that already has the kernel with the radios.
set -eu
here=$(dirname "$0")
for part in system environment pacelab notebooks mininet-wifi; do
    sh "$here/step.sh" $part
done
