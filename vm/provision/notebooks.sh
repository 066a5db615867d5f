#!/bin/sh
# JupyterLab as an unprivileged service of the lab's user, on port 8888, with a token that is made once.
set -eu
user=${LAB_USER:-vagrant}
here=$(cd "$(dirname "$0")/../.." && pwd)
home=/opt/pacelab
wheels=$here/build/vm/wheels
if [ -d "$wheels" ]; then offline="--no-index --find-links $wheels"; else offline=; fi
$home/bin/pip install -q $offline --require-hashes -r "$here/requirements-notebooks.txt"
usermod -aG pacelab "$user"
folder=$(getent passwd "$user" | cut -d: -f6)
# The labs are copied once; a student's own work is never overwritten.
[ -e "$folder/labs" ] || [ ! -d "$here/labs" ] || cp -r "$here/labs" "$folder/labs"
mkdir -p /etc/pacelab "$folder/labs"
chown -R "$user:" "$folder/labs"
if [ ! -s /etc/pacelab/notebook.env ]; then
    echo "JUPYTER_TOKEN=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')" >/etc/pacelab/notebook.env
    chmod 640 /etc/pacelab/notebook.env
    chgrp "$(id -gn "$user")" /etc/pacelab/notebook.env
fi
cat >/etc/systemd/system/pacelab-notebooks.service <<EOF
[Unit]
Description=PaceLab's notebooks
After=network.target

[Service]
User=$user
WorkingDirectory=$folder/labs
EnvironmentFile=/etc/pacelab/notebook.env
# Inside the machine it must listen beyond loopback for the forwarded port; the host binds that to 127.0.0.1.
ExecStart=$home/bin/jupyter lab --no-browser --ip=0.0.0.0 --port=8888
Restart=on-failure
NoNewPrivileges=yes

[Install]
WantedBy=multi-user.target
EOF
systemctl daemon-reload
systemctl -q enable --now pacelab-notebooks.service
