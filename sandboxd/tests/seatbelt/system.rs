//! What of the network, the system and its devices can be reached.

use super::*;

#[test]
fn the_network_is_the_filter_and_nothing_else() {
    let to =
        |profile: &Profile, protocol, address| profile.allows("network-outbound", Object::Net { protocol, address });
    let (none, filtered) = (of("workspace_readwrite"), of("networkMode"));
    assert!(to(&filtered, "tcp", "localhost:8123") && !to(&none, "tcp", "localhost:8123"));
    for (protocol, address) in [
        ("udp", "localhost:8123"),
        ("tcp", "localhost:5432"),
        ("tcp", "93.184.216.34:443"),
        ("udp", "1.1.1.1:53"),
    ] {
        assert!(!to(&filtered, protocol, address), "{protocol} {address}");
    }
    for operation in ["network-bind", "network-inbound"] {
        let object = Object::Net {
            protocol: "tcp",
            address: "localhost:8123",
        };
        assert!(!filtered.allows(operation, object), "{operation}");
    }
    // Names are looked up by nobody.
    assert!(!filtered.connects("/private/var/run/mDNSResponder"));
    assert!(!filtered.allows("mach-lookup", Object::Name("com.apple.mDNSResponder")));
    let mut policy = everyday();
    policy.network = Network::Filtered(0);
    assert_eq!(profile(&policy), Err(Unwritable::Port));
}

#[test]
fn sockets_made_inside_work_and_those_of_the_outside_only_if_they_are_named() {
    let (profile, named) = (of("workspace_readwrite"), of("allowUnixSockets"));
    let bound = |profile: &Profile, path: &str| profile.allows("network-bind", Object::Socket(path));
    for path in [format!("{WS}/x.sock"), format!("{STATE}/tmp/7/x.sock")] {
        assert!(bound(&profile, &path) && profile.connects(&path), "{path}");
    }
    for path in [
        "/private/var/run/docker.sock",
        "/private/tmp/com.apple.launchd.abc/Listeners",
        "/private/var/run/com.apple.launchd.abc/Listeners",
        "/Users/ada/.docker/run/docker.sock",
    ] {
        assert!(!profile.connects(path) && !bound(&profile, path), "{path}");
    }
    assert!(named.connects("/private/var/run/docker.sock"));
    assert!(!named.connects("/private/var/run/docker.sock.2") && !named.connects("/private/var/run/mDNSResponder"));
    // An agent is reached if it is named; a socket that is hidden in the workspace is not.
    let mut policy = everyday();
    policy.sockets = vec![
        "/private/tmp/com.apple.launchd.abc/Listeners".into(),
        path("named.sock"),
    ];
    policy.masked.extend([path("hidden.sock"), path("named.sock")]);
    let agent = written(&policy);
    assert!(agent.connects("/private/tmp/com.apple.launchd.abc/Listeners"));
    assert!(!agent.connects("/private/tmp/com.apple.launchd.xyz/Listeners"));
    assert!(agent.connects(&format!("{WS}/named.sock")) && !agent.connects(&format!("{WS}/hidden.sock")));
    // Nor what is the system's, in a folder that may be written.
    let mut policy = everyday();
    policy.read_write.push("/private/var/run".into());
    let wide = written(&policy);
    assert!(wide.connects("/private/var/run/x.sock") && !wide.connects("/private/var/run/mDNSResponder"));
    assert!(!wide.connects("/private/var/run/com.apple.launchd.abc/Listeners"));
}

#[test]
fn nobody_elses_process_service_or_memory_is_reached() {
    let profile = of("networkMode");
    for operation in ["signal", "process-info-pidinfo", "mach-priv-task-port"] {
        assert!(profile.allows(operation, Object::Process { same: true }), "{operation}");
        assert!(
            !profile.allows(operation, Object::Process { same: false }),
            "{operation}"
        );
    }
    for (operation, name, allowed) in [
        ("mach-lookup", "com.apple.system.opendirectoryd.libinfo", true),
        ("mach-lookup", "com.apple.SecurityServer", false),
        ("mach-lookup", "com.apple.pasteboard.1", false),
        ("mach-lookup", "com.apple.coreservices.launchservicesd", false),
        ("mach-lookup", "com.apple.trustd.agent", false),
        ("sysctl-read", "hw.ncpu", true),
        ("sysctl-read", "kern.procargs2", false),
        ("sysctl-read", "kern.proc.all", false),
        ("sysctl-write", "kern.hostname", false),
        ("ipc-posix-sem", "/mp-a1b2", true),
        ("ipc-posix-sem", "/other", false),
        ("ipc-posix-shm-write-create", "/psm_1", true),
        ("ipc-posix-shm-write-create", "apple.shm.notification_center", false),
        ("ipc-posix-shm-read-data", "apple.shm.notification_center", true),
        ("system-socket", "AF_UNIX", true),
        ("system-socket", "AF_SYSTEM", false),
    ] {
        assert_eq!(
            profile.allows(operation, Object::Name(name)),
            allowed,
            "{operation} {name}"
        );
    }
    for operation in [
        "appleevent-send",
        "job-creation",
        "user-preference-write",
        "file-mount",
        "iokit-open",
    ] {
        assert!(!profile.allows(operation, Object::Nothing), "{operation}");
    }
    for operation in ["process-fork", "process-exec", "pseudo-tty", "user-preference-read"] {
        assert!(profile.allows(operation, Object::Nothing), "{operation}");
    }
}

#[test]
fn of_the_devices_the_harmless_ones_and_the_own_terminal_are_there() {
    let profile = of("workspace_readwrite");
    let (read, write, control) = ("file-read-data", "file-write-data", "file-ioctl");
    for device in ["null", "zero", "ptmx", "fd/1"] {
        for operation in [read, write, control] {
            assert!(
                profile.file(operation, &format!("/dev/{device}")),
                "{operation} {device}"
            );
        }
        assert!(!profile.file("file-write-unlink", &format!("/dev/{device}")));
    }
    assert!(profile.reads("/dev/urandom") && !profile.file(write, "/dev/urandom"));
    assert!(profile.reads("/dev"));
    for device in ["disk0", "rdisk0", "bpf0", "tty", "ttys001", "mem", "cu.modem"] {
        for operation in [read, write, control] {
            assert!(
                !profile.file(operation, &format!("/dev/{device}")),
                "{operation} {device}"
            );
        }
    }
    for operation in [read, write, control] {
        let own = Object::Path {
            path: "/dev/ttys003",
            inside: true,
        };
        assert!(
            profile.allows(operation, own),
            "{operation} of a pty that the command made"
        );
        assert!(of("terminal").file(operation, "/dev/ttys012") && of("terminal").file(operation, "/dev/tty"));
        assert!(!of("terminal").file(operation, "/dev/ttys013") && !profile.file(operation, "/dev/ttys012"));
    }
}
