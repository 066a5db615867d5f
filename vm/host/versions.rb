# Which Vagrant: one that knows architectures and today's VirtualBox, or, for libvirt, the distribution's own.
module PaceLab
  class Failure < Vagrant::Errors::VagrantError
    attr_reader :error_message

    def initialize(text)
      @error_message = text
      super()
    end
  end

  module Versions
    LEAST = "2.4.9".freeze

    def self.apply(config)
      config.trigger.before :up do |trigger|
        trigger.ruby { |_env, machine| check(machine) }
      end
    end

    def self.check(machine)
      return if machine.provider_name == :libvirt || Gem::Version.new(Vagrant::VERSION) >= Gem::Version.new(LEAST)

      raise Failure, "PaceLab: with #{machine.provider_name} this lab needs Vagrant #{LEAST} or newer, which knows your " \
                     "processor's boxes and VirtualBox 7.2; this is #{Vagrant::VERSION}. " \
                     "Get it from https://developer.hashicorp.com/vagrant/install"
    end
  end
end
