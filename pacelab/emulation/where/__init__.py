"""Where the kernel of a run between real hosts is: `--where here|vm|uml`. It adds no topology code.

    here   this machine's
    vm     a virtual machine's (`make vm`): a stock Debian kernel, in real time
    uml    User-Mode Linux (`make uml-kernel`): a kernel as a process of yours, whose clock moves only when it is idle,
           so that a run is a function of its configuration and seed, whatever the machine's speed or load

Both of the last two do one thing: a back end's plan goes into a folder that a guest shares, the same pacelab in the
guest runs it with `--where here`, and its result comes back through the folder. They differ in how a guest is booted.
"""
