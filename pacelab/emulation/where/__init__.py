"""Where the kernel of a run on real hosts is: `--where here|vm|uml`.

    here   this machine's kernel
    vm     a virtual machine's kernel (`make vm`): stock Debian, in real time
    uml    User-Mode Linux (`make uml-kernel`): the kernel is a user process whose clock advances only while it is idle,
           so a run depends only on its configuration and seed, not on the machine's speed or load

`vm` and `uml` work the same way: the host writes a plan into a folder that it shares with the guest, the same pacelab
in the guest runs the plan with `--where here`, and the result returns through the folder. They differ only in how the
guest boots.
"""
