package jnvdocker.docker.cli;

import java.util.Set;

/**
 * The options of docker's command line from 20.10 to 29.8, hidden and deprecated ones included,
 * written as {@code --help} writes them. From {@code cli/command/container/opts.go}, {@code run.go}
 * and {@code create.go}, and {@code cli/flags/options.go} of docker/cli.
 */
final class DockerOptions {
    /** The options of docker itself, typed before the command. */
    static final OptionTable GLOBAL =
            OptionTable.parse(
                    """
                          --config string
                      -c, --context string
                      -D, --debug
                      -h, --help
                      -H, --host list
                      -l, --log-level string
                          --tls
                          --tlscacert string
                          --tlscert string
                          --tlskey string
                          --tlsverify
                      -v, --version
                    """);

    /** The options of {@code docker container}, typed before its command. */
    static final OptionTable CONTAINER = OptionTable.parse("  -h, --help");

    static final String GPU_WAIT = "gpu-wait";

    static final String GPU_TIME = "gpu-time";

    /** Ours, of run and create, which docker is not to see. */
    static final OptionTable OURS =
            OptionTable.parse(
                    """
                          --gpu-time duration
                          --gpu-wait duration[=forever]
                    """);

    /** Their names. */
    static final Set<String> OUR_NAMES = Set.of(GPU_TIME, GPU_WAIT);

    private static final String RUN_AND_CREATE =
            """
                  --add-host list
                  --annotation map
              -a, --attach list
                  --blkio-weight uint16
                  --blkio-weight-device list
                  --cap-add list
                  --cap-drop list
                  --cgroup-parent string
                  --cgroupns string
                  --cidfile string
                  --cpu-count int
                  --cpu-percent int
                  --cpu-period int
                  --cpu-quota int
                  --cpu-rt-period int
                  --cpu-rt-runtime int
              -c, --cpu-shares int
                  --cpus decimal
                  --cpuset-cpus string
                  --cpuset-mems string
                  --device list
                  --device-cgroup-rule list
                  --device-read-bps list
                  --device-read-iops list
                  --device-write-bps list
                  --device-write-iops list
                  --disable-content-trust
                  --dns list
                  --dns-opt list
                  --dns-option list
                  --dns-search list
                  --domainname string
                  --entrypoint string
              -e, --env list
                  --env-file list
                  --expose list
                  --gpus gpu-request
                  --group-add list
                  --health-cmd string
                  --health-interval duration
                  --health-retries int
                  --health-start-interval duration
                  --health-start-period duration
                  --health-timeout duration
                  --help
              -h, --hostname string
                  --init
              -i, --interactive
                  --io-maxbandwidth bytes
                  --io-maxiops uint
                  --ip string
                  --ip6 string
                  --ipc string
                  --isolation string
                  --kernel-memory bytes
              -l, --label list
                  --label-file list
                  --link list
                  --link-local-ip list
                  --log-driver string
                  --log-opt list
                  --mac-address string
              -m, --memory bytes
                  --memory-reservation bytes
                  --memory-swap bytes
                  --memory-swappiness int
                  --mount mount
                  --name string
                  --net network
                  --net-alias list
                  --network network
                  --network-alias list
                  --no-healthcheck
                  --oom-kill-disable
                  --oom-score-adj int
                  --pid string
                  --pids-limit int
                  --platform string
                  --privileged
              -p, --publish list
              -P, --publish-all
                  --pull string
              -q, --quiet
                  --read-only
                  --restart string
                  --rm
                  --runtime string
                  --security-opt list
                  --shm-size bytes
                  --stop-signal string
                  --stop-timeout int
                  --storage-opt list
                  --sysctl map
                  --tmpfs list
              -t, --tty
                  --ulimit ulimit
                  --use-api-socket
              -u, --user string
                  --userns string
                  --uts string
              -v, --volume list
                  --volume-driver string
                  --volumes-from list
              -w, --workdir string
            """;

    private static final String RUN_ONLY =
            """
              -d, --detach
                  --detach-keys string
                  --sig-proxy
            """;

    private static final OptionTable CREATE = OptionTable.parse(RUN_AND_CREATE);
    private static final OptionTable RUN = OptionTable.parse(RUN_AND_CREATE + RUN_ONLY);

    private DockerOptions() {}

    static OptionTable of(Verb verb) {
        return switch (verb) {
            case RUN -> RUN;
            case CREATE -> CREATE;
        };
    }
}
