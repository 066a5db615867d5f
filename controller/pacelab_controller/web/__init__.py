"""REST under /v1 with an OpenAPI document, the event stream, and the page.

serve   runs the server, and checks each request: token, Host, Origin, size of the body
api     the routes, with validated models of requests and answers
client  an HTTP client, and the connection of a gateway's agent
"""
