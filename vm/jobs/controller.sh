#!/bin/sh
# The controller with the kernel's datapath and radios, inside the virtual machine: vm/run vm/jobs/controller.sh
cd tests/vm || exit 1
/opt/pacelab/bin/python -B -m unittest -v check_controller 2>&1
