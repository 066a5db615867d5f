#!/bin/sh
uname -r; cat /proc/uptime; systemd-analyze 2>/dev/null | head -1
modprobe mac80211_hwsim radios=3 && iw dev | grep -c Interface
python3 -V; ls /lab | head -3; nproc; iw --version; wpa_cli -v 2>/dev/null | head -1
