# The port by which this computer reaches the notebooks: 8888, or the next that is free, chosen before the machine starts
# and kept for it; and the links, with that port, at the end. Vagrant's own correction does not suffice: libvirt has none
# and says nothing, and the others' cannot be told in the link.
require "socket"

module PaceLab
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

    # Sets the host's side of the forwarded port. A machine that runs keeps the one that it has.
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
      # A restart in the middle of provisioning comes before them.
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
