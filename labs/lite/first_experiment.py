# %% [markdown]
# # A first experiment in your browser
#
# The simulator runs on this page: nothing is installed, and nothing is sent to a server. The same experiment with the
# same seed gives the same bytes here and on any computer.
#
# **Where your work is.** This browser stores the notebook. It is lost if you clear the site's data, or close a private
# window. *File > Download* saves the notebook as a file.
#
# Run the cells from top to bottom with Shift+Enter. The first cell takes some seconds, because Python starts.

# %%
from pacelab import Experiment, run

chain = Experiment(topology="chain", topology_options={"hops": 4}, duration_s=20)
result = run(chain)
print(f"{result.goodput_bps / 1000:.1f} kbit/s over 4 hops")

# %% [markdown]
# Change the number of hops and run the cell again. What does each hop cost?

# %%
for hops in (1, 2, 4, 8):
    found = run(chain.vary(topology_options={"hops": hops}))
    print(f"{hops} hops: {found.goodput_bps / 1000:7.1f} kbit/s")

# %% [markdown]
# TCP-GAP is a pacing scheme of the gateway. With AODV as the routing protocol, does it carry more than NewReno?

# %%
for scheme in ("newreno", "tcp-gap"):
    found = run(chain.vary(scheme=scheme, routing="aodv", topology_options={"hops": 7}))
    print(f"{scheme}: {found.goodput_bps / 1000:.1f} kbit/s")
