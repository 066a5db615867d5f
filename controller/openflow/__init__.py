"""The brain as an os-ken (Ryu) application: OpenFlow 1.3 messages to events, actions to messages.

connection   a switch's connection, on native threads
convert      rules to OpenFlow and back
shell        the brain with a clock, a lock and the connections
app          os-ken's handlers
run          starts all of it
"""
