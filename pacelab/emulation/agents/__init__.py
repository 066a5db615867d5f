"""The agents' command line and what people see of them; the agents themselves are `pacelab_pacer.linux`."""
