#!/bin/sh
# The tests of mac80211_hwsim, inside the virtual machine: vm/run vm/jobs/test.sh
# All that they touch is in memory: the counted clock runs on, from one timer to the next, while the machine waits for the
# host's disk, so that a host that is busy writing would use up their time. The modules are loaded once for what they need
# beside their folders (their index, ciphers, firmware).
mount -t tmpfs tmpfs /tmp && mkdir -p /tmp/lab/tests /tmp/lab/medium/target/release || exit 1
cp -r tests/vm /tmp/lab/tests/ && cp medium/target/release/mediumd /tmp/lab/medium/target/release/ || exit 1
find /usr/bin /usr/sbin /usr/lib/x86_64-linux-gnu /usr/lib/python3* /usr/lib/modules/*/kernel/net \
    /usr/lib/modules/*/kernel/drivers/net/wireless /usr/lib/modules/*/kernel/crypto -type f -exec cat {} + >/dev/null
modprobe mac80211_hwsim radios=2 && rmmod mac80211_hwsim || exit 1
cd /tmp/lab/tests/vm || exit 1
python3 -B -m unittest -v check_air check_drop_in 2>&1
