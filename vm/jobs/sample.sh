#!/bin/sh
# Seven of the 17 tests of mac80211_hwsim, for .ci/run: vm/run vm/jobs/sample.sh
export CHOSEN="-k lone_link -k hidden_senders -k open_access_point -k carries_frames -k second_medium -k every_message -k five_gigahertz"
exec sh vm/jobs/test.sh
