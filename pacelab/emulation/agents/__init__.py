"""The agents' command line and displays. `pacelab_pacer.linux` holds the agents themselves."""
