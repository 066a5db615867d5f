"""REST under /v1 with an OpenAPI document, the event stream, and the page.

guard      who may ask: loopback or a Unix socket, a token, our own Host and Origin, bodies of bounded size
api        the routes
documents  what they take and answer, as validated models
serve      runs it
"""
