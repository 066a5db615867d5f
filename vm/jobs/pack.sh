#!/bin/sh
# Called by vm/pack: turns the image into a machine that boots on its own, provisions it, and removes data of this copy.
set -eu
share=$PWD/build/pack/share
. "$share/options"
export OFFLINE LAB_USER=vagrant

# Log-in: with the box's key over SSH, and without a password at the console, which only the machine's owner sees.
useradd --create-home --shell /bin/bash "$LAB_USER"
echo "$LAB_USER ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/pacelab
install -d -o "$LAB_USER" -g "$LAB_USER" -m 700 "/home/$LAB_USER/.ssh"
install -o "$LAB_USER" -g "$LAB_USER" -m 600 "$share/key" "/home/$LAB_USER/.ssh/authorized_keys"
echo 'PasswordAuthentication no' >/etc/ssh/sshd_config.d/pacelab.conf
for console in getty@tty1 serial-getty@ttyS0; do
    install -d "/etc/systemd/system/$console.service.d"
    printf '[Unit]\nAfter=pacelab-notebooks.service\n\n[Service]\nExecStart=\nExecStart=-/sbin/agetty --autologin %s --noclear %%I $TERM\n' "$LAB_USER" \
        >"/etc/systemd/system/$console.service.d/pacelab.conf"
done
systemctl -q unmask getty@tty1.service
echo '[ "$SSH_CONNECTION" ] || [ "$PS1" = "" ] || pacelab-links' >/etc/profile.d/pacelab.sh

# Network access, Debian's own sources, and a host name that resolves.
cat >/etc/systemd/network/pacelab.network <<NETWORK
[Match]
Name=eth0

[Network]
DHCP=yes
NETWORK
systemctl -q enable systemd-networkd.service systemd-resolved.service ssh.service
rm -f /etc/apt/sources.list.d/*
cat >/etc/apt/sources.list <<SOURCES
deb http://deb.debian.org/debian bookworm main
deb http://deb.debian.org/debian bookworm-updates main
deb http://deb.debian.org/debian-security bookworm-security main
SOURCES
echo '127.0.1.1 pacelab' >>/etc/hosts
if [ -z "$OFFLINE" ]; then
    systemctl start systemd-networkd.service systemd-resolved.service
    /lib/systemd/systemd-networkd-wait-online --any --timeout=60
fi

sh vm/provision/step.sh

kernel=$(uname -r)
install -m 644 "$share/vmlinuz" "/boot/vmlinuz-$kernel"
install -m 600 "$share/initrd" "/boot/initrd.img-$kernel"
disk=$(findmnt -n -o SOURCE /)
parent=/dev/$(lsblk -n -o PKNAME "$disk")
echo "UUID=$(blkid -s UUID -o value "$disk") / ext4 defaults 0 1" >/etc/fstab
cat >/etc/default/grub <<GRUB
GRUB_DEFAULT=0
GRUB_TIMEOUT=1
GRUB_CMDLINE_LINUX_DEFAULT="quiet"
GRUB_CMDLINE_LINUX="net.ifnames=0 console=tty0 console=ttyS0,115200"
GRUB
grub-install --target=i386-pc "$parent"
update-grub

sh vm/provision/forget.sh
systemctl -q disable vm-job.service
rm /etc/systemd/system/vm-job.service /usr/local/sbin/vm-job
fstrim /
