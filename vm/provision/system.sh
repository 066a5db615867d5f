#!/bin/sh
# Debian packages. Repeating it is harmless.
set -eu
here=$(dirname "$0")/..
export DEBIAN_FRONTEND=noninteractive
packages=$(grep -v '^#' "$here/packages.txt")
lacking=$(for package in $packages; do dpkg -s "$package" >/dev/null 2>&1 || echo "$package"; done)
if [ -n "$lacking" ]; then
    apt-get -q -o DPkg::Lock::Timeout=300 update
    # The cloud images' kernel has no radios: the plain one does.
    apt-get -q -o DPkg::Lock::Timeout=300 install -y --no-install-recommends \
        "linux-image-$(dpkg --print-architecture)" $lacking
fi
# hwsim's radios are ours alone: nothing else may configure them.
systemctl -q disable --now hostapd wpa_supplicant 2>/dev/null || true
# Its port is for Mininet's own controllers.
systemctl -q disable --now openvswitch-testcontroller 2>/dev/null || true
modprobe -n mac80211_hwsim 2>/dev/null ||
    echo "provision: this kernel ($(uname -r)) has no mac80211_hwsim; restart the machine to get the one just installed"
