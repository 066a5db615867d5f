# What the student's computer must have before a machine is made; each lack is told in one message.
module PaceLab
  # An error whose text is the whole of what Vagrant prints.
  class Failure < Vagrant::Errors::VagrantError
    attr_reader :error_message

    def initialize(text)
      @error_message = text
      super()
    end
  end

  module Computer
    # It knows architectures and today's VirtualBox. With libvirt a distribution's older one will do.
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

    # In the home folder, where boxes and most machines are kept; nil where there is no `df`.
    def self.free_gb
      Integer(`df -Pk "#{Dir.home}"`.lines.last.split[3]) / 1_000_000
    rescue SystemCallError, NoMethodError, TypeError, ArgumentError
      nil
    end
  end
end
