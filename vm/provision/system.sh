#!/bin/sh
# Debian packages. Repeating it is harmless.
set -eu
here=$(dirname "$0")/..
export DEBIAN_FRONTEND=noninteractive
packages=$(grep -v '^#' "$here/packages.txt")
installed=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' | sed -n 's/^ii *//p')
lacking=$(printf '%s\n' $packages | grep -vxF "$installed") || true
if [ -n "$lacking" ]; then
    apt-get -q -o DPkg::Lock::Timeout=300 update
    # The cloud images' kernel has no radios: the plain one does.
    apt-get -q -o DPkg::Lock::Timeout=300 install -y --no-install-recommends \
        "linux-image-$(dpkg --print-architecture)" $lacking
fi
# hwsim's radios are ours alone: nothing else may configure them. The controller's port is for Mininet's own.
for unit in hostapd wpa_supplicant openvswitch-testcontroller; do
    if [ "$(systemctl is-enabled $unit 2>/dev/null)" = enabled ]; then
        systemctl -q disable --now $unit 2>/dev/null || true
    fi
done
modprobe -n mac80211_hwsim 2>/dev/null ||
    echo "provision: this kernel ($(uname -r)) has no mac80211_hwsim; restart the machine to get the one just installed"
