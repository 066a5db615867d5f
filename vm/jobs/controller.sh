#!/bin/sh
# The controller with the kernel's datapath and radios, inside the virtual machine: vm/run vm/jobs/controller.sh
cd tests/vm || exit 1
/opt/pacelab/bin/python -B -m unittest -v check_back_end.Controller 2>&1
