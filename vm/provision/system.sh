#!/bin/sh
# Debian packages, and a kernel with mac80211_hwsim. Repeating it is harmless.
set -eu
here=$(dirname "$0")/..
export DEBIAN_FRONTEND=noninteractive
apt() { apt-get -q -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@"; }
# A machine that was switched off in the middle of it.
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

# The cloud images' kernel has no radios, and GRUB takes it for the newer one of two: it goes, once there is a plain one.
clouds=$(echo "$installed" | grep '^linux-image-.*cloud') || true
if [ -n "$clouds" ] && find /lib/modules -name 'mac80211_hwsim.ko*' | grep -q .; then
    # shellcheck disable=SC2086  # names, one a word
    apt purge -y $clouds
fi

# hwsim's radios are ours alone: nothing else may configure them. The controller's port is for Mininet's own.
for unit in hostapd wpa_supplicant openvswitch-testcontroller; do
    if [ "$(systemctl is-enabled $unit 2>/dev/null)" = enabled ]; then
        systemctl -q disable --now $unit 2>/dev/null || true
    fi
done
