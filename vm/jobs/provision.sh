#!/bin/sh
# Runs Vagrant's provisioning inside the virtual machine twice, then a student's first steps: make vm-provision
# Needs the wheels under dist/ (make wheel). There is no internet, so Mininet-WiFi is not installed.
export LAB_USER=vagrant OFFLINE=yes
useradd --create-home --shell /bin/bash "$LAB_USER"
sh vm/provision/step.sh || exit 1
touch /run/provisioned
sh vm/provision/step.sh || exit 1
changed=$(find / -xdev -newercm /run/provisioned -type f ! -path '/var/log/*' ! -path '/home/*/.local/share/jupyter/*')
[ -z "$changed" ] || { echo "the second time changed $changed"; exit 1; }
sh vm/provision/links.sh
cd tests/vm && python3 -B -m unittest -v check_provisioned 2>&1
