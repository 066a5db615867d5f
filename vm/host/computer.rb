# Runs on the student's computer: checks its requirements before a machine is created, and chooses the notebooks' port.
require "socket"

module PaceLab
  # An error for which Vagrant prints only the text.
  class Failure < Vagrant::Errors::VagrantError
    attr_reader :error_message

    def initialize(text)
      @error_message = text
      super()
    end
  end

  # The requirements of the computer. One message lists everything that is missing.
  module Computer
    # This version supports architectures and the current VirtualBox. With libvirt, an older version is enough.
    LEAST_VAGRANT = "2.4.9".freeze
    LEAST_FREE_GB = 8

    def self.apply(config)
      config.trigger.before :up do |trigger|
        trigger.ruby { |_env, machine| check(machine) }
      end
    end

    def self.check(machine)
      libvirt = machine.provider_name == :libvirt
      raise Failure, old_vagrant(machine.provider_name) unless libvirt || recent?
      raise Failure, NO_KVM if libvirt && machine.provider_config.driver == "kvm" && !File.exist?("/dev/kvm")

      free = free_gb
      return if free.nil? || free >= LEAST_FREE_GB

      machine.ui.warn("PaceLab: #{free} GB are free in #{Dir.home}; the machine grows to #{LEAST_FREE_GB} GB.")
    end

    NO_KVM = "PaceLab: this computer has no /dev/kvm. Switch virtualization on (VT-x, AMD-V or SVM) in its firmware's set-up, " \
             "switch it off and on, and see that `sudo modprobe kvm_intel` or `kvm_amd` says nothing. Without, it can be " \
             "emulated, slowly: docs/vm.md.".freeze

    def self.old_vagrant(provider)
      "PaceLab: with #{provider} this lab needs Vagrant #{LEAST_VAGRANT} or newer, which knows your processor's boxes and " \
        "VirtualBox 7.2; this is #{Vagrant::VERSION}. Get it from https://developer.hashicorp.com/vagrant/install"
    end

    def self.recent?
      Gem::Version.new(Vagrant::VERSION) >= Gem::Version.new(LEAST_VAGRANT)
    end

    # Free space of the home folder, which has the boxes and most machines. nil if there is no `df`.
    def self.free_gb
      Integer(`df -Pk "#{Dir.home}"`.lines.last.split[3]) / 1_000_000
    rescue SystemCallError, NoMethodError, TypeError, ArgumentError
      nil
    end
  end

  # The port at which this computer reaches the notebooks: 8888 or the next free port. It is chosen before the machine starts,
  # is kept for this machine, and is part of the links at the end. Vagrant's own choice of a free port does not suffice:
  # libvirt has none, and for other providers the links could not name the port.
  module NotebookPort
    GUEST = 8888
    LAST = 8987

    def self.apply(config)
      config.trigger.before :up, :reload do |trigger|
        trigger.ruby { |_env, machine| choose(machine) }
      end
      config.trigger.after :up, :reload, :provision do |trigger|
        trigger.ruby { |_env, machine| print_links(machine) if machine.state.id == :running }
      end
    end

    # Sets the host's side of the forwarded port. A running machine keeps its port.
    def self.choose(machine)
      wanted = kept(machine)
      unless machine.state.id == :running || free?(wanted)
        taken = wanted
        wanted = (GUEST..LAST).find { |port| free?(port) }
        raise Failure, "PaceLab: no port from #{GUEST} to #{LAST} of this computer is free." unless wanted

        machine.ui.warn("PaceLab: port #{taken} of this computer is taken by another program; the notebooks get #{wanted}.")
      end
      file(machine).write(wanted)
      networks = machine.config.vm.networks
      networks.find { |kind, options| kind == :forwarded_port && options[:guest] == GUEST }.last[:host] = wanted
    end

    def self.print_links(machine)
      said = +""
      # A restart during provisioning comes before the links.
      links = "! command -v pacelab-links >/dev/null || pacelab-links #{kept(machine)}"
      machine.communicate.sudo(links, error_check: false) { |_kind, text| said << text }
      machine.ui.info(said, prefix: false) unless said.empty?
    end

    def self.kept(machine)
      Integer(file(machine).read)
    rescue Errno::ENOENT, ArgumentError
      GUEST
    end

    def self.file(machine)
      machine.data_dir.join("notebook_port")
    end

    def self.free?(port)
      TCPServer.new("127.0.0.1", port).close
      true
    rescue Errno::EADDRINUSE, Errno::EACCES
      false
    end
  end
end
