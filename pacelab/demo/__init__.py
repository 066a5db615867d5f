"""Live demonstrations: one page component on top of the engine, which is compiled to WebAssembly.

    catalog.py   the demonstrations: a network, its controls, a question and an answer
    runs.py      runs for the demonstrations whose schemes are in Python: what a page may request, and the answer
    page.py      the component, its engine and one demonstration as a page or as a single file for slides
    editor.py    the page on which a user draws a network
    network.py   the page that a controller serves
    live.py      the events of a running network, for the same component
    server.py    the server on loopback: `pacelab demo`
    animation.py a GIF for slides
    widget.py    the component in a notebook
    static/      the component: JavaScript modules, style sheets and HTML templates

The engine runs in the page. If the user drags a node or moves a slider, the page simulates the network again without a
server.
"""
