"""The controller as an os-ken (Ryu) application: OpenFlow 1.3 messages to events, actions to messages.

run      os-ken's handlers, and the start
driver   the controller with a clock, a lock and the switches' connections
convert  rules to OpenFlow and back
"""
