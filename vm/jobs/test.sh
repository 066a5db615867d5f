#!/bin/sh
# The tests of mac80211_hwsim, inside the virtual machine: vm/run vm/jobs/test.sh
cd tests/vm || exit 1
python3 -B -m unittest -v check_air check_drop_in check_modes 2>&1
