#!/bin/sh
# Installs Debian packages and a kernel with mac80211_hwsim. A second run is harmless.
set -eu
here=$(dirname "$0")/..
export DEBIAN_FRONTEND=noninteractive
apt() { apt-get -q -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@"; }
# Repair a machine that was switched off during an installation.
[ -z "$(dpkg --audit)" ] || dpkg --configure -a
packages=$(grep -v '^#' "$here/packages.txt")
installed=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' | sed -n 's/^ii *//p')
# shellcheck disable=SC2086  # names, one a word
lacking=$(printf '%s\n' $packages | grep -vxF "$installed") || true
kernel=linux-image-$(dpkg --print-architecture)
modprobe --dry-run --quiet mac80211_hwsim || echo "$installed" | grep -qxF "$kernel" || lacking="$kernel $lacking"
if [ -n "$lacking" ]; then
    apt update
    # shellcheck disable=SC2086  # names, one a word
    apt install -y --no-install-recommends $lacking
fi

# The kernel of cloud images has no radios, and GRUB prefers it. Remove it after a plain kernel is installed.
clouds=$(echo "$installed" | grep '^linux-image-.*cloud') || true
if [ -n "$clouds" ] && find /lib/modules -name 'mac80211_hwsim.ko*' | grep -q .; then
    # shellcheck disable=SC2086  # names, one a word
    apt purge -y $clouds
fi

# Only PaceLab configures hwsim's radios. The OpenFlow port is for Mininet's controller.
for unit in hostapd wpa_supplicant openvswitch-testcontroller; do
    if [ "$(systemctl is-enabled $unit 2>/dev/null)" = enabled ]; then
        systemctl -q disable --now $unit 2>/dev/null || true
    fi
done
