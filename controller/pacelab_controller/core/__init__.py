"""What the controller knows and decides, free of I/O: see `pacelab_controller`."""
