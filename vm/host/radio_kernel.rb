# A step of provisioning on the student's computer: Vagrant restarts the machine if its kernel lacks the simulated radios.
# The shell provisioner's `reboot` is not used: it always restarts, waits forever on the connection that the restart has
# closed, and breaks libvirt's forwarded ports.
module PaceLab
  class RadioKernel < Vagrant.plugin("2", :provisioner)
    def provision
      return if radios?

      @machine.ui.info("PaceLab: the machine restarts into a kernel with mac80211_hwsim, Linux's simulated radios.")
      @machine.action(:reload, provision_enabled: false)
      return if radios?

      @machine.ui.warn(
        "PaceLab: after the restart the kernel is #{release}, which has no mac80211_hwsim: all works but --backend hwsim " \
        "and Mininet-WiFi. See `vagrant ssh -c \"dpkg -l 'linux-image-*'\"`, remove all but Debian's plain kernel, and " \
        "say: vagrant reload --provision"
      )
    end

    private

    def radios?
      @machine.communicate.test("modprobe --dry-run --quiet mac80211_hwsim", sudo: true)
    end

    def release
      said = +""
      @machine.communicate.execute("uname -r") { |kind, text| said << text if kind == :stdout }
      said.strip
    end
  end

  class RadioKernelPlugin < Vagrant.plugin("2")
    name "PaceLab: a kernel with radios"
    provisioner("radio_kernel") { RadioKernel }
  end
end
