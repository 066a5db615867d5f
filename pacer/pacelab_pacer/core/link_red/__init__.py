"""Link RED and adaptive pacing in the link layer: nodes drop early, and wait longer, where frames get lost.

Both keep TCP's window near its best size, which is smaller than the one that TCP alone finds. Link RED may use the
extra backoff of `link_pacing`.

Source: [fu] Fu et al. 2005. Imports the contract and segments only.
"""
