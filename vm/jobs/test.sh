#!/bin/sh
# The tests of mac80211_hwsim, inside the virtual machine: vm/run vm/jobs/test.sh
# All files that the tests use are in memory. While the machine waits for the host's disk, the counted clock jumps from one
# timer to the next, so a host with a busy disk would exceed the tests' timeouts. The modules are loaded once before the
# tests, so that the other files that they need (their index, ciphers, firmware) are also in memory.
mount -t tmpfs tmpfs /tmp && mkdir -p /tmp/lab/tests /tmp/lab/medium/target/release || exit 1
cp -r tests/vm /tmp/lab/tests/ && cp medium/target/release/mediumd /tmp/lab/medium/target/release/ || exit 1
find /usr/bin /usr/sbin /usr/lib/x86_64-linux-gnu /usr/lib/python3* /usr/lib/modules/*/kernel/net \
    /usr/lib/modules/*/kernel/drivers/net/wireless /usr/lib/modules/*/kernel/crypto -type f -exec cat {} + >/dev/null
modprobe mac80211_hwsim radios=2 && rmmod mac80211_hwsim || exit 1
cd /tmp/lab/tests/vm || exit 1
# shellcheck disable=SC2086  # options, one a word
python3 -B -m unittest -v $CHOSEN check_air check_drop_in 2>&1
