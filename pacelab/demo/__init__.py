"""Live demonstrations: one page component on the engine compiled to WebAssembly.

    catalog.py   what is shown: the network, its sliders, the question
    page.py      the component with its engine and one demo: a page, or a single file for slides
    server.py    serves it on loopback
    widget.py    the same component in a notebook
    static/      the component: engine, air, scene, timeline, demo (ES modules), style

The page runs the engine itself: a dragged node or a moved slider runs the air again, in the browser, without a network.
"""
