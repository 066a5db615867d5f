"""Configuration of pacelab-labs, installed as etc/ipython/ipython_kernel_config.py of the environment."""

# IPython provides get_config.
c = get_config()  # noqa: F821
c.InteractiveShellApp.extensions = ["pacelab_labs.above"]
