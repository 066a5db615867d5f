#!/bin/sh
# What the student sees at the end of `vagrant up`: pacelab-links [PORT ON THE HOST]
/usr/local/sbin/pacelab-token
. /etc/pacelab/notebook.env
cat <<EOF

PaceLab is ready.
  notebooks   http://127.0.0.1:${1:-8888}/lab?token=$JUPYTER_TOKEN
  a shell     vagrant ssh
  first run   vagrant ssh -c 'pacelab run hidden --rts off'
  real hosts  vagrant ssh -c 'pacelab run hidden --rts off --backend tap --traffic udp-saturated --seconds 20'
EOF
