#!/bin/sh
# The sample of .ci/run of the tests of mac80211_hwsim, without the longest: vm/run vm/jobs/sample.sh
export CHOSEN="-k lone_link -k hidden_senders -k open_access_point -k carries_frames -k second_medium -k every_message -k five_gigahertz"
exec sh vm/jobs/test.sh
