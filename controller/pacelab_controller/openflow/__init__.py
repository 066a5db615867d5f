"""The brain as an os-ken (Ryu) application: OpenFlow 1.3 messages to events, actions to messages.

convert      rules to OpenFlow and back
shell        the brain with a clock, a lock and the switches' connections
run          os-ken's handlers, and the start of all of it
"""
