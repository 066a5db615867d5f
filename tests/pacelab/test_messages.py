"""Wrong inputs on the command line, in Python, and in YAML: each error is one line in the same form.

The form: what is wrong, with the value; what is valid; what to do. So each message says what a value must be, what is
missing, or what to use.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

import pacelab
from pacelab import Experiment, Scheme, Topology
from pacelab.cli.main import main
from pacelab.results.quantities import SHORT_NAMES
from pacelab.schemes import SCHEMES
from pacelab_topologies.registry import KINDS

FORM = re.compile(
    r"\b(must (be|define|have|name|join|start|not)|needs?|cannot|takes|names must differ)\b"
    r"|[;:.?] (use|give|add|remove|leave|set|write|choose|list|make|repeat|rename|run|did you mean|the options are|its "
    r"options are)\b"
)
"""Each message has one of these: what is valid, or what to do."""
OLD = re.compile(r"\bcame\b|\bof your own:")  # tools/language has the rest
AT_GATEWAYS = [name for name, scheme in SCHEMES.items() if scheme.gateway is not None]
TOPOLOGIES = f"one of {', '.join(KINDS)}, or the path of a .yaml or .py file"

COMMANDS = [
    ("run", "Missing argument 'TOPOLOGY'; give a name that `pacelab topologies` lists, or a file"),
    ("run chian", f"topology must be {TOPOLOGIES}, not 'chian'; did you mean 'chain'?"),
    ("run torus", f"topology must be {TOPOLOGIES}, not 'torus'"),
    ("run missing.yaml", "(No such file or directory); give the path of a .yaml or .py file in UTF-8"),
    ("run missing.py", "(No such file or directory); give the path of a .yaml or .py file in UTF-8"),
    ("run chain --hops four", "--hops must be a whole number from 1 to 200, not 'four'"),
    ("run chain --hops 0", "--hops must be a whole number from 1 to 200, not 0"),
    ("run chain --hops 201", "--hops must be a whole number from 1 to 200, not 201"),
    ("run chain --hops 1-10", "--hops must be a whole number from 1 to 200, not '1-10'; did you mean 1..10?"),
    ("run chain --hops 1,2", "--hops must be one value here, not 1,2; `pacelab compare` accepts lists"),
    (
        "run chain --hops 2 --hops 3",
        "--hops is given 2 times; give it once, with a list A,B if the option accepts lists",
    ),
    ("run chain --duration x", "--seconds must be a number from 0.001 to 1000000, not 'x'"),
    ("run chain --time 0", "--seconds must be a number from 0.001 to 1000000, not '0'"),
    ("run chain --seconds nan", "--seconds must be a number from 0.001 to 1000000, not 'nan'"),
    ("run chain --seconds inf", "--seconds must be a number from 0.001 to 1000000, not 'inf'"),
    ("run chain --seconds 5 --warmup 5", "--warmup must be at least 0.001 s less than --seconds 5, not 5"),
    ("run chain --seed -1", "--seed must be a whole number from 0 to 9223372036854775807, not -1"),
    ("run chain --seed 1,2", "--seed must be one value here, not 1,2; `pacelab compare` has --seeds N"),
    (
        "run chain --rate 2000000",
        "--rate must be one of 1, 2, 5.5, 6, 9, 11, 12, 18, 24, 36, 48, 54 Mbit/s, or auto, not '2000000'",
    ),
    ("run chain --rate 6", "--rate must be one of 1, 2, 5.5, 11 Mbit/s with --phy 802.11b, not 6"),
    ("run chain --rts maybe", "--rts must be one of on, off, not 'maybe'"),
    ("run chain --window 0", "--window must be a whole number from 1 to 10000, not 0"),
    (
        "run chain --scheme tcpgap",
        f"--scheme must be one of {', '.join(SCHEMES)}, or FILE.py:NAME, not 'tcpgap'; did you mean 'tcp-gap'?",
    ),
    ("run chain --scheme cubic", "--scheme 'cubic' is a congestion control; use --cc cubic"),
    ("run chain --scheme bbr", "--scheme 'bbr' is a congestion control; use --cc bbr"),
    (
        "run chain --scheme gap",
        f"--scheme must be one of {', '.join(SCHEMES)}, or FILE.py:NAME, not 'gap'",
    ),
    ("run chain --scheme mine.py", "--scheme must be FILE.py:NAME with a name of that file, not 'mine.py'"),
    (
        "run chain --scheme mine.py:Mine",
        "--scheme: cannot read 'mine.py' (No such file or directory); give the path of an existing file",
    ),
    ("run chain --scheme fixed-rate", "scheme 'fixed-rate' needs --pace-rate: give a number above 0, up to 100"),
    ("run chain --cc veno", "not 'veno', which is Linux's; use --backend tap, and --where uml if you are not root"),
    ("run chain --cc linux:BBR", "hybla, illinois, lp, nv, scalable, veno, yeah, or linux:NAME, not 'linux:BBR'"),
    ("run chain --cc mine.py", "--cc must be FILE.py:CLASS with a class of that file, not 'mine.py'"),
    ("run chain --traffic vioce", "http, voice, mixed, or a path to a .yaml file, not 'vioce'; did you mean 'voice'?"),
    (
        "run chain --traffic missing.yaml",
        "'missing.yaml' (No such file or directory); give the path of a .yaml file in UTF-8",
    ),
    ("run chain --traffic mixed", "topology 'chain' has 0 call(s) and 1 other flow(s); set --voice and --tcp above 0"),
    (
        "run chain --traffic udp-saturated --scheme tcp-gap",
        "traffic only, not on --traffic udp-saturated; use --traffic tcp or --scheme newreno",
    ),
    (
        "run chain --scheme tcp-ap --direction down",
        "where a flow starts, as with --direction up; use another topology or --direction",
    ),
    (
        "run chain --scheme ack-suppression",
        "needs a topology with the feature 'single-hop'; 'chain' has: gateway, multi-hop",
    ),
    ("run chain --routing olsr", "--routing must be one of static, aodv, aodv-2001 with --backend sim, not olsr"),
    (
        "run chain --routing aodv --backend tap",
        "--backend tap: --routing must be one of static, olsr on Linux, not aodv",
    ),
    ("run chain --radio ns3", "--radio must be one of ns2, ns2-2001, standard, sinr, not 'ns3'"),
    (
        "run chain --radio ns2-2001 --rate 11",
        "data a DIFS after the CTS, later than the receiver waited; use --rate 1, 2, or 5.5",
    ),
    (
        "run chain --phy 802.11x",
        "--phy must be one of 802.11b, 802.11a, 802.11g, 802.11n, 802.11ac, 802.11ax, not '802.11x'",
    ),
    ("run chain --backend ns3", "--backend must be one of sim, tap, hwsim, not 'ns3'"),
    ("run chain --medium stock", "--medium needs --backend hwsim, not sim"),
    ("run chain --where vm", "--where must be here with --backend sim, not vm; sim runs no kernel"),
    ("run chain --backend tap --queue 0", "--queue must be a whole number from 1 to 10000, not 0"),
    (
        "run chain --backend hwsim --queue 200",
        "--backend hwsim: --queue must be at most 100, since mac80211_hwsim loses frames beyond, not 200",
    ),
    (
        "run chain --backend tap --cc tahoe",
        "--backend tap: --cc must be one of newreno, vegas, westwood, cubic, bbr, bic, cdg, dctcp, highspeed, htcp, "
        "hybla, illinois, lp, nv, scalable, veno, yeah, or linux:NAME on Linux, not 'tahoe'",
    ),
    ("run chain --backend tap --linux-tcp rack", "--backend tap: --linux-tcp rack needs SACK in Linux; use sack+rack"),
    ("run chain --no-wired --wired-hops 2", "--wired-hops 2 has no effect with --no-wired; use --wired"),
    ("run chain --no-wired --voice 1", "--voice and --tcp need wired hosts; use --wired, not --no-wired"),
    (
        "run chain --voice 1 --scheme edca --edca off",
        "--edca must be 'on' with scheme 'edca', which sets it, not 'off'",
    ),
    ("run chain --voice 0 --tcp 0", "--voice 0 with --tcp 0 gives no flow; set at least one of them above 0"),
    (
        "run chain --spacing 251",
        "no path connects flow n0->host; add a wire, or move nodes to at most 250 m from each other",
    ),
    ("run chain --speed 3", "--speed; its options are: --hops, --spacing, --wired, --wired-hops, --voice, --tcp"),
    ("run chain --set hops=3,x", "--hops must be a whole number from 1 to 200, not 'x'"),
    (
        "run chain --set colour=red",
        "of topology 'chain' (hops, spacing, wired, wired_hops, voice, tcp), not 'colour=red'",
    ),
    ("run chain --pcap-snap 10", "--pcap-snap and --pcap-garbled need --pcap FILE"),
    ("run chain --pcap ''", "--pcap must be the path of a file or folder, not ''; perhaps a shell variable is unset"),
    ("run chain --out full", "--out must be a new or an empty folder;"),
    ("run chain --out a-file.txt", "--out must be a new or an empty folder; '"),
    ("run hidden --hops 3", "topology 'hidden' has no option --hops; leave it out, since this topology has no options"),
    ("run cell --direction down", "--direction must be up for topology 'cell', not down"),
    ("run cell --stations 26", "--stations must be a whole number from 1 to 25, not 26"),
    ("run pairs --link 100 --layout shared", "--link 100 has no effect with --layout shared; use another layout"),
    ("run pairs --shift 400", "--shift must be a number from -250 to 250, not '400'"),
    ("run random --wired-hops 2", "--wired-hops 2 has no effect without --gateway; add --gateway"),
    ("rn chain", "No such command 'rn': did you mean 'run'? `pacelab --help` lists the commands"),
    ("help", "No such command 'help': use COMMAND --help; `pacelab --help` lists the commands"),
    (
        "compare chain --schemes newreno,veno",
        "not 'veno', which is Linux's; use --backend tap, and --where uml if you are not root",
    ),
    (
        "compare chain --schemes all,newreno",
        "--schemes all must be alone, and only in a comparison; list the schemes instead",
    ),
    ("compare chain --seeds 0", "--seeds must be a whole number from 1 to 10000, not 0"),
    ("compare chain --hops 5..2", "--hops must be LOW..HIGH with LOW <= HIGH and at most 1000 values, not '5..2'"),
    (
        "compare chain --full --seconds 3",
        "--seconds 3 cannot be combined with --full: with --full, a run ends after a fixed number of "
        "packets; leave one of the two out",
    ),
    ("compare chain --y mos", "--y mos needs voice calls; add some, for example with --traffic voice"),
    (
        "compare chain --y godput",
        f"--y must be one of {', '.join(SHORT_NAMES)}, not 'godput'; did you mean 'goodput'?",
    ),
    ("compare chain --jobs 0", "--jobs must be a whole number from 1 to 1024, not 0"),
    ("compare chain --seed 1,2", "--seed must be one value, the first seed, not 1,2; `--seeds N` runs N seeds"),
    (
        "sweep chain --out full --schemes newreno",
        "--out must be a new folder, an empty one, or one of a sweep; 'full' holds other files",
    ),
    (
        "sweep chain --out s --jobs 2 --scheduler tcp://h:1",
        "--jobs 2 and --scheduler tcp://h:1 cannot be combined; leave one out",
    ),
    ("sweep chain --out s --scheduler nowhere", "--scheduler must be tcp://HOST:PORT, not 'nowhere'"),
    ("plot nothing", "no such folder: 'nothing'; give the folder of a run, sweep or comparison"),
    ("plot run --x hops --cdf", "--x cannot be combined with --cdf, whose x axis is the quantity; use --by"),
    ("plot sw --where hops", "no such folder: 'sw'; give the folder of a run, sweep or comparison"),
    ("timeline chain --from 5 --to 3", "--to must be more than --from, 5 ms, not 3"),
    ("timeline chain --hops 1,2", "--hops must be one value here; `pacelab compare` accepts lists"),
    (
        "timeline chain --out picture.bmp",
        "--out must be a file name that ends with .svg, .png or .pdf, not 'picture.bmp'",
    ),
    ("reproduce fu-fig2", "lists, or FILE.yaml, your own file, not 'fu-fig2'; did you mean 'fu-fig2c'?"),
    ("reproduce paper", "an id that `pacelab claims` lists, or FILE.yaml, your own file, not 'paper'"),
    ("reproduce fu --seeds 20000", "--seeds must be a whole number from 1 to 10000, not 20000"),
    ("claims --paper xyz", "a paper (fu, le, lee, tcp-gap, vagp) or an id that `pacelab claims` lists, not 'xyz'"),
    ("new paper x", "new: the kind must be one of cc, pacer, link, qdisc, scheme, topology, claim, not 'paper'"),
    ("new cc class", "new cc: 'class' is a Python keyword; choose another name"),
    ("new cc 1st", "new cc: the name must be letters, digits and _, starting with a letter, not '1st'"),
    ("new claim Ä", "new claim: the name must be the letters a to z, digits and _, not 'Ä'"),
    ("topologies chain --out a.svg", "--out needs --plot, whose figure it names"),
    ("topologies --plot", "--plot and options of a topology need one topology; use `pacelab topologies NAME`"),
    ("rerun nothing", "a run (run.json: No such file or directory); give a folder that `pacelab run` wrote"),
    ("shell chain", "shell needs real hosts; add --backend tap or --backend hwsim"),
    ("gateway --air a0 --wired w0 --scheme newreno --datapath xdp", "--datapath must be one of nfqueue, tc, not 'xdp'"),
    ("gateway --air a0 --wired a0 --scheme tcp-gap", "--wired must be another interface than --air, not a0"),
    ("gateway --air a0 --wired a+ --scheme tcp-gap", "--wired must not include a0, the interface of --air, as a+ does"),
    (
        "helper --units . --socket s",
        "--socket has no effect on --units, whose socket has a fixed path; use one of them",
    ),
    (
        "gateway --air a0 --wired w0 --scheme tcp-ap",
        f"--scheme 'tcp-ap' does nothing at a gateway; use one of {', '.join(AT_GATEWAYS)}",
    ),
    ("demo starvatoin", "or the path of a .yaml or .py file, not 'starvatoin'; did you mean 'starvation'?"),
    ("run chain -hops 3", "did you mean --hops?"),
    ("run chain extra", "Unexpected argument 'extra'; remove it; `pacelab run --help` lists the options"),
    ("run chain --wired maybe", "Unexpected argument 'maybe'; remove it;"),
    ("run chain --hops", "--hops needs a value; add it after --hops; `pacelab run --help` lists the options"),
    ("run chain --json=yes", "--json takes no value; write --json alone; `pacelab run --help` lists the options"),
    ("run chain --window=", "--window must be a whole number from 1 to 10000, not ''"),
    ("run chain --hops 1e1", "--hops must be a whole number from 1 to 200, not '1e1'"),
    ("run chain --mcs 3", "--mcs needs --phy 802.11n, ac, or ax, not 802.11b"),
    ("run chain --phy 802.11n --rate 54", "--rate must be 65 Mbit/s with --mcs 7 and --gi long, not 54; leave --rate"),
    (
        "run chain --qdisc fq-codel",
        "--qdisc must be one of pfifo, codel, fq_codel, fq, or FILE.py:CLASS, not 'fq-codel'; did you mean",
    ),
    ("run chain --ecn on", "--ecn on needs a queue that marks packets: --qdisc codel or fq_codel, not pfifo"),
    ("run chain --routing olsr", "--routing must be one of static, aodv, aodv-2001 with --backend sim, not olsr"),
    ("run chain --where uml", "--where must be here with --backend sim, not uml; sim runs no kernel"),
    (
        "run chain --host-delay exponential:x",
        "a number of seconds from 0 to 1, or exponential:MEAN, not 'exponential:x'",
    ),
    ("run chain --size-bytes 10MB", "--size-bytes must be a whole number from 1 to 1000000000000, not '10MB'"),
    ("run chain --pcap-garbled", "--pcap-snap and --pcap-garbled need --pcap FILE"),
    ("run exposed --sense 550", "topology 'exposed' has no option --sense; leave it out, since this topology has no"),
    ("compare chain --scheme newreno", "No such option: --scheme; did you mean --schemes? `pacelab compare --help`"),
    ("compare chain --hops 1,,2", "--hops must be a list A,B without empty items, not '1,,2'; remove a comma"),
    ("compare chain --hops 1..", "--hops must be LOW..HIGH with two numbers, not '1..'"),
    ("compare chain --schemes newreno,,tcp-gap", "--schemes must be a list A,B without empty items, not 'newreno,,tcp"),
    ("sweep chain", "Missing option '--out'; add --out DIR; `pacelab sweep --help` lists the options"),
    ("plot", "Missing argument 'DIR'; give the folder of a sweep, a comparison or a run; `pacelab plot --help`"),
    ("new cc", "Missing argument 'NAME'; give a name for your code; `pacelab new --help` lists the options"),
    ("demo window --port 70000", "--port must be a whole number from 0 to 65535, not 70000;"),
    ("demo window --port x", "--port must be a whole number from 0 to 65535, not 'x';"),
    ("demo --export a.html", "demo: --export needs a network; name one, as in `pacelab demo chain --export ...`"),
    ("controller --listen 70000", "--listen must be HOST:PORT, not '70000'; for example 127.0.0.1:6653"),
]

CALLS: list[tuple[Callable[[], object], str]] = [
    (lambda: Experiment("chain"), "Experiment takes options by name only, for example topology='chain', not 'chain'"),
    (lambda: Experiment(hops=7), "'hops'; write topology_options={'hops': ...}, since it is an option of the topology"),
    (lambda: Experiment(topolgy="chain"), "Experiment has no option 'topolgy'; did you mean topology?"),
    (lambda: Experiment(topology=3), "topology must be a name or the path of a file, not 3"),
    (lambda: Experiment(topology_options=7), "topology_options must be a mapping, for example {'hops': 7}, not 7"),
    (lambda: Experiment(topology_options={"hops": "7"}), "--hops must be a whole number from 1 to 200, not '7'"),
    (
        lambda: Experiment(rate_bps=2),
        "1, 2, 5.5, 6, 9, 11, 12, 18, 24, 36, 48, 54 Mbit/s, or auto, not 2; 2 is written 2000000 here",
    ),
    (
        lambda: Experiment(rate_bps=2e6),
        "6, 9, 11, 12, 18, 24, 36, 48, 54 Mbit/s, or auto, not 2000000.0; 2 is written 2000000 here",
    ),
    (lambda: Experiment(rts="on"), "--rts must be one of on, off, not 'on'; on is written True here"),
    (lambda: Experiment(duration_s=0), "--seconds must be a number from 0.001 to 1000000, not '0'"),
    (lambda: Experiment(duration_s=math.nan), "--seconds must be a number from 0.001 to 1000000, not 'nan'"),
    (lambda: Experiment(window_pkts=3.5), "--window must be a whole number from 1 to 10000, not 3.5"),
    (lambda: Experiment(seed=True), "--seed must be a whole number from 0 to 9223372036854775807, not True"),
    (
        lambda: Experiment(traffic=5),
        "tcp, udp-saturated, cbr, file, http, voice, mixed, or a path to a .yaml file, not 5",
    ),
    (lambda: Experiment().vary(sede=2), "Experiment has no option 'sede'; did you mean seed?"),
    (
        lambda: setattr(Experiment(), "seed", 2),
        "an Experiment cannot be changed; make another with experiment.vary(seed=...)",
    ),
    (
        lambda: Experiment().topology_options.update(hops=2),  # type: ignore[attr-defined]
        "an Experiment cannot be changed; make another with experiment.vary(topology_options={...})",
    ),
    (
        lambda: pacelab.compare(Experiment(), schemes=["newreno"], axes={"rate": [2]}),
        "axis must be an option of a run, not 'rate'; use rate_bps, as --rate is called in Python",
    ),
    (
        lambda: pacelab.compare(Experiment(), schemes="newreno"),
        "compare: schemes must be a list of names, for example ['newreno', 'tcp-gap'], not 'newreno'",
    ),
    (
        lambda: pacelab.compare(Experiment(), schemes=[]),
        "compare: schemes must be a list of names, for example ['newreno', 'tcp-gap'], not []",
    ),
    (
        lambda: pacelab.compare(Experiment(), schemes=["newreno", "newreno"]),
        "compare: schemes must be a list that has each name once, not ['newreno', 'newreno']",
    ),
    (
        lambda: pacelab.compare(Experiment(), schemes=["newreno"], seeds=0),
        "compare: seeds must be a whole number from 1 to 10000, not 0",
    ),
    (
        lambda: pacelab.compare(Experiment(), schemes=["newreno"], axes={"hops": 3}),
        "axis 'hops' must be a list or a range with at least one value, for example [1, 2], not 3",
    ),
    (
        lambda: pacelab.compare(Experiment(), schemes=["newreno"], axes={"colour": [1]}),
        "--colour; its options are: --hops, --spacing, --wired, --wired-hops, --voice, --tcp",
    ),
    (lambda: pacelab.compare("chain", schemes=["newreno"]), "compare: base must be a pacelab.Experiment, not 'chain'"),
    (lambda: pacelab.run("chain"), "run: experiment must be a pacelab.Experiment, not 'chain'"),
    (
        lambda: pacelab.load_result("nowhere"),
        "a run (run.json: No such file or directory); give a folder that `pacelab run` wrote",
    ),
    (
        lambda: pacelab.load_points("nowhere"),
        "no such folder: 'nowhere'; give the folder of a run, sweep or comparison",
    ),
    (
        lambda: pacelab.load_topology("chian"),
        f"topology must be {TOPOLOGIES}, not 'chian'; did you mean 'chain'?",
    ),
    (lambda: pacelab.load_topology("chain", hops=0), "--hops must be a whole number from 1 to 200, not 0"),
    (lambda: pacelab.PcapFile(path=""), "PcapFile: path must be a path, as a text or a pathlib.Path, not ''"),
    (lambda: pacelab.RunStore(folder=3), "RunStore: folder must be a path, as a text or a pathlib.Path, not 3"),
    (
        lambda: Scheme(name="", summary="", source=""),
        "Scheme: name must be a text of 1 to 100 characters, without \" * / : < > ? \\ |, not ''",
    ),
    (lambda: Scheme(name="a", summary="", source="", link=3), "Scheme: link must be a function, not 3"),
    (
        lambda: Scheme(name="a", summary="", source="", traffic=("http",)),
        "Scheme: traffic must be a list of tcp, udp-saturated, cbr, voice, not ('http',)",
    ),
    (
        lambda: Scheme(name="a", summary="", source="", implied_options={"colour": 1}),
        "a mapping of options of an experiment, for example {'edca': True}, not {'colour': 1}",
    ),
    (
        lambda: Topology(name="a", description="", nodes=("n",), flows=(), decode_m=250.0, sense_m=550.0),
        "topology 'a': nodes: must be a tuple of pacelab.Node objects, not 'n'",
    ),
    (
        lambda: Topology(name="a", description="", nodes=(), flows=(), decode_m=250.0, sense_m=100.0),
        "topology 'a': the sense range must be at least the decode range, 250.0 m, not 100.0 m",
    ),
    (lambda: pacelab.HookSettings(sense_hops=101), "sense_hops must be a whole number from 0 to 100, not 101"),
    (lambda: pacelab.jain([-1.0]), "jain: rates must be a list of finite numbers, 0 or more, not [-1.0]"),
    (
        lambda: pacelab.print_json({"a": object()}),
        "has no form in JSON; use texts, finite numbers, lists, and mappings",
    ),
    (lambda: pacelab.plot_series("x"), "plot_series: result must be a pacelab.RunResult, not 'x'"),
    (
        lambda: Experiment(window=3),
        "Experiment has no option 'window'; use window_pkts, as --window is called in Python",
    ),
    (lambda: Experiment(duration_s="10"), "--seconds must be a number from 0.001 to 1000000, not '10'"),
    (lambda: Experiment(topology_options={"hops": True}), "--hops must be a whole number from 1 to 200, not True"),
    (
        lambda: pacelab.compare(Experiment(), schemes=["newreno"], axes={"hops": [1, 1]}),
        "axis 'hops' must be a list that has each value once, not [1, 1]",
    ),
    (lambda: pacelab.load_topology(3), "topology must be a name or the path of a .yaml or .py file, not 3"),
    (
        lambda: pacelab.run_pacer(Experiment(), "tcp-gap"),
        "run_pacer: the pacer must be a subclass of pacelab.Pacer (the class itself), not 'tcp-gap'",
    ),
    (
        lambda: pacelab.run_pacer(Experiment(), pacelab.Pacer),
        "pacer Pacer must define measured; `pacelab new pacer NAME` writes an example",
    ),
    (lambda: pacelab.run(Experiment(), pcap=3), "run: pcap must be a pacelab.PcapFile, not 3"),
]

NETWORK = """version: 1
name: net
ranges: {decode: 250 m, sense: 550 m}
nodes:
  - {name: a, at: [0 m, 0 m]}
  - {name: b, at: [200 m, 0 m]}
  - {name: host, at: [400 m, 0 m], wired: true}
wires:
  - {between: [b, host], rate: 10 Mbit/s, delay: 40 ms}
flows:
  - {from: a, to: host}
defaults: {rate: 11}
"""
DOCUMENTS = [
    ("version: 1", "version: 2", "net.yaml:1: version: must be 1, not 2"),
    (
        "decode: 250 m",
        "decode: 250",
        "missing; must be a number above 0 with one of the units m, km, for example '250 m'",
    ),
    (
        "decode: 250 m",
        "decode: far",
        "must be a number above 0 with one of the units m, km, for example '250 m', not 'far'",
    ),
    ("sense: 550 m", "sense: 100 m", "net.yaml:3: ranges.sense: must be at least decode, 250 m, not 100 m"),
    ("name: b", "name: a", "net.yaml:6: nodes.1.name: 'a' is the name of the node in line 5; names must differ"),
    (
        "200 m, 0 m",
        "251 m, 0 m",
        "no path connects a -> host; add a wire, or nodes at most 250 m apart",
    ),
    (
        "200 m, 0 m",
        "0 m, 0 m",
        "net.yaml:6: nodes.1.at: 'a' has the same position; wireless nodes need different positions",
    ),
    ("wired: true", "wired: maybe", "net.yaml:7: nodes.2.wired: must be true or false, not 'maybe'"),
    ("10 Mbit/s", "10 Mbps", "the units bit/s, kbit/s, Mbit/s, Gbit/s, for example '10 Mbit/s', at least 1 bit/s"),
    ("40 ms", "2 h", "at least 0 with one of the units s, ms, us, min, for example '40 ms', at most 3600 s"),
    ("[b, host]", "[b]", "net.yaml:9: wires.0.between: must be a list of at least 2, not ['b']"),
    ("[b, host]", "[b, b]", "net.yaml:9: wires.0.between: must name two different nodes, not one node twice"),
    ("to: host", "to: hots", "net.yaml:11: flows.0.to: must be a node (a, b, host), not 'hots'"),
    (
        "to: host",
        "dst: host",
        "net.yaml:11: flows.0.dst: unknown key; use one of from, to, start, stop (and 1 more error)",
    ),
    ("from: a, to: host", "from: a, to: a", "net.yaml:11: flows.0: must name two different nodes, not one node twice"),
    ("to: host", "to: host, start: 5 s, stop: 4 s", "net.yaml:11: flows.0.stop: must be after start, 5 s, not 4 s"),
    (
        "defaults: {rate: 11}",
        "defaults: {rate: 7}",
        "must be one of 1, 2, 5.5, 6, 9, 11, 12, 18, 24, 36, 48, 54 Mbit/s, or auto, not '7'",
    ),
    (
        "defaults: {rate: 11}",
        "defaults: {rats: 11}",
        "backend, where, builder, medium, controller, linux-tcp, ping, seconds, warmup, seed",
    ),
    ("flows:\n  - {from: a, to: host}", "flows: 3", "net.yaml:10: flows: must be a list, not 3"),
    ("nodes:", "nodes: [", "YAML: expected the node content, but found '-'; write YAML 1.2 with each key once"),
    ("name: net", 'name: "a\\nb"', "net.yaml:2: name: name must be a text without control characters, not 'a\\nb'"),
]


def check_form(message: str, told: str) -> None:
    assert told in message
    assert "\n" not in message.strip()
    assert FORM.search(message), message
    assert not OLD.search(message), message


def test_there_are_120_of_them() -> None:
    assert len(COMMANDS) + len(CALLS) + len(DOCUMENTS) >= 120


@pytest.mark.parametrize(("command", "told"), COMMANDS)
def test_a_wrong_command_is_refused_in_one_line(
    command: str, told: str, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (in_tmp / "full").mkdir()
    (in_tmp / "full/file").touch()
    (in_tmp / "a-file.txt").touch()
    assert main(shlex.split(command)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    check_form(captured.err, told)


@pytest.mark.parametrize(("call", "told"), CALLS, ids=[told for _, told in CALLS])
def test_a_wrong_call_is_refused_in_one_line(call: Callable[[], object], told: str, in_tmp: Path) -> None:
    with pytest.raises((pacelab.ConfigError, ValueError)) as caught:
        call()
    check_form(str(caught.value), told)


@pytest.mark.parametrize(("old", "new", "told"), DOCUMENTS)
def test_a_wrong_document_is_refused_with_its_line(old: str, new: str, told: str, in_tmp: Path) -> None:
    assert old in NETWORK
    (in_tmp / "net.yaml").write_text(NETWORK.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(pacelab.ConfigError, match=r"^net\.yaml:[0-9]+: ") as caught:
        Experiment(topology="net.yaml")
    check_form(str(caught.value), told)
