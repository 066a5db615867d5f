#!/bin/sh
# The back end hwsim, inside the virtual machine: vm/run vm/jobs/hwsim.sh
cd tests/vm || exit 1
/opt/pacelab/bin/python -B -m unittest -v check_back_end.BackEnd 2>&1
