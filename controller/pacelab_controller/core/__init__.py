"""What the controller knows and decides, without I/O: see `pacelab_controller`."""
