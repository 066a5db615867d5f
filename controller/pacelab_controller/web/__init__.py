"""REST under /v1 with an OpenAPI document, the event stream, and the page.

api        the routes, and what they take and answer, as validated models
serve      runs it; who may ask: loopback or a Unix socket, a token, our own Host and Origin, bodies of bounded size
client     who asks, and a gateway's agent at the controller
"""
