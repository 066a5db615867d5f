# Mininet-WiFi's examples, on the stock wmediumd and on ours, inside the virtual machine: vm/run vm/jobs/examples.sh SECONDS
# What is found goes to build/examples; a second call goes on where the first was ended. Needs Mininet-WiFi in the machine
# and, under build/, the stock program with the libraries that the machine lacks: build/stock/wmediumd, build/stock/lib.
out=build/examples
mkdir -p $out
[ ! -e build/stock/prepare.sh ] || . build/stock/prepare.sh
export STOCK_WMEDIUMD=${STOCK_WMEDIUMD:-$PWD/build/stock/wmediumd}
for medium in ${MEDIA:-stock ours}; do
    python3 -B tests/vm/run_examples.py "$medium" "$out/$medium.jsonl" || exit 1
done
