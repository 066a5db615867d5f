"""Live demonstrations: one page component on the engine compiled to WebAssembly.

    catalog.py   what a demonstration is: a network, its controls, a question; and the demonstrations
    runs.py      those whose schemes are in Python: what a page may ask for, and the answer
    page.py      the component with its engine and one demo: a page, or a single file for slides
    live.py      a running network's events, for the same component
    server.py    serves it on loopback: `pacelab demo`
    animation.py a GIF for slides
    widget.py    the same component in a notebook
    static/      the component: engine, air, view, scene, timeline, curves, demo (ES modules), style

The page runs the engine itself: a dragged node or a moved slider runs the air again, in the browser, without a network.
"""
