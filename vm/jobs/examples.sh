# Mininet-WiFi's examples, on the stock wmediumd and on ours, inside the virtual machine: vm/run vm/jobs/examples.sh SECONDS
# Results go to build/examples; a second call continues where the first one ended. Needs Mininet-WiFi in the machine
# (vm/provision/mininet-wifi.sh) and the stock program, STOCK_WMEDIUMD or build/stock/wmediumd; build/stock/prepare.sh,
# where there is one, sees to both. Then: python tests/vm/tabulate_examples.py build/examples/{stock,ours}.jsonl
out=build/examples
mkdir -p $out
[ ! -e build/stock/prepare.sh ] || . build/stock/prepare.sh
export STOCK_WMEDIUMD=${STOCK_WMEDIUMD:-$PWD/build/stock/wmediumd}
python3 -B tests/vm/run_examples.py $out
