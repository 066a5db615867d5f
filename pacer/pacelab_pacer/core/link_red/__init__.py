"""Link RED and adaptive pacing in the link layer: nodes drop early, and wait longer, where frames get lost.

Both keep TCP's window near its best, which is smaller than TCP alone finds. Link RED may use the extra backoff of
`LinkPacing`.

Source: [fu] Fu et al. 2005. Sees the contract and segments only.
"""
