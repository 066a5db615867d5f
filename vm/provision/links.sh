#!/bin/sh
# Prints the links that the student sees at the end of `vagrant up`: pacelab-links [PORT ON THE HOST]
# The port is stored for the next call.
kept=/var/lib/pacelab/host-port
if [ $# -gt 0 ]; then
    install -D -m 644 /dev/null $kept
    echo "$1" >$kept
fi
/usr/local/sbin/pacelab-token
. /etc/pacelab/notebook.env
cat <<EOF

PaceLab is ready.
  notebooks   http://127.0.0.1:$(cat $kept 2>/dev/null || echo 8888)/lab?token=$JUPYTER_TOKEN
  a shell     vagrant ssh
  first run   vagrant ssh -c 'pacelab run hidden --rts off'
  real hosts  vagrant ssh -c 'pacelab run hidden --rts off --backend tap --traffic udp-saturated --seconds 20'
EOF
[ -x /usr/local/bin/mininet-wifi-python ] ||
    echo "  Mininet-WiFi is not installed; \`vagrant provision\` tries again."
