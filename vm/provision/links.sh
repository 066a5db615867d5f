#!/bin/sh
# What the student sees at the end of `vagrant up`.
. /etc/pacelab/notebook.env
cat <<EOF

PaceLab is ready.
  notebooks   http://127.0.0.1:8888/lab?token=$JUPYTER_TOKEN
  a shell     vagrant ssh
  first run   vagrant ssh -c 'pacelab run hidden --rts off'
EOF
