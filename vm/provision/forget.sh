#!/bin/sh
# Runs last before a machine is packed. Removes files that each copy must create for itself, and files that nobody needs.
set -eu
cat >/etc/systemd/system/pacelab-host-keys.service <<UNIT
[Unit]
Description=SSH host keys of this copy's own
Before=ssh.service
ConditionPathExists=!/etc/ssh/ssh_host_ed25519_key

[Service]
Type=oneshot
ExecStart=/usr/bin/ssh-keygen -A

[Install]
WantedBy=multi-user.target
UNIT
systemctl -q enable pacelab-host-keys.service
systemctl -q stop pacelab-notebooks.service
rm -f /etc/pacelab/notebook.env /etc/ssh/ssh_host_* /var/lib/systemd/random-seed /var/lib/dbus/machine-id
: >/etc/machine-id
rm -rf /home/*/.local/share/jupyter /home/*/.bash_history /var/log/journal/* /tmp/*
apt-get clean
rm -rf /var/lib/apt/lists/*
