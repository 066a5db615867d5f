#!/bin/sh
# Puts the labs into the user's home folder and starts JupyterLab: an unprivileged service on port 8888, with a token.
set -eu
user=${LAB_USER:-vagrant}
here=$(cd "$(dirname "$0")/../.." && pwd)
home=/opt/pacelab
folder=$(getent passwd "$user" | cut -d: -f6)

# Notebooks that a student has changed are kept.
if [ -d "$here/labs" ]; then
    wanted=$(cat "$here"/labs/generate.py "$here"/labs/pacelab_labs/masters/*.py | sha256sum)
    if [ "$(cat $home/.labs 2>/dev/null)" != "$wanted" ]; then
        install -d -o "$user" -g "$(id -gn "$user")" "$folder/labs"
        runuser -u "$user" -- $home/bin/python -B "$here/labs/generate.py" --for student --out "$folder/labs"
        echo "$wanted" >$home/.labs
    fi
fi

install -d /etc/pacelab
new=$(mktemp)
trap 'rm $new' EXIT
put() { cmp -s "$1" "$2" || install -m 755 "$1" "$2"; }
put "$here/vm/provision/links.sh" /usr/local/bin/pacelab-links
cat >"$new" <<EOF
#!/bin/sh
# A token for this machine's notebooks, made once.
file=/etc/pacelab/notebook.env
[ ! -e \$file ] || exit 0
umask 077
echo "JUPYTER_TOKEN=\$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')" >\$file.\$\$
chgrp $(id -gn "$user") \$file.\$\$
chmod 640 \$file.\$\$
ln \$file.\$\$ \$file 2>/dev/null || true  # another made it meanwhile
rm \$file.\$\$
EOF
put "$new" /usr/local/sbin/pacelab-token

unit=/etc/systemd/system/pacelab-notebooks.service
cat >"$new" <<EOF
[Unit]
Description=PaceLab's notebooks
After=network.target

[Service]
User=$user
WorkingDirectory=$folder/labs/student
ExecStartPre=+/usr/local/sbin/pacelab-token
EnvironmentFile=-/etc/pacelab/notebook.env
# Inside the machine it must listen beyond loopback for the forwarded port, which the host binds to 127.0.0.1; by this
# setting it nevertheless answers to names of the local host alone.
ExecStart=$home/bin/jupyter lab --no-browser --ip=0.0.0.0 --port=8888 --ServerApp.allow_remote_access=False
Restart=on-failure
NoNewPrivileges=yes

[Install]
WantedBy=multi-user.target
EOF
if ! cmp -s "$new" $unit; then
    install -m 644 "$new" $unit
    systemctl daemon-reload
    systemctl -q enable pacelab-notebooks.service
    systemctl restart pacelab-notebooks.service
fi
