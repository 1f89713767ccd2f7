package jnvdocker.docker.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.List;

/** What a real engine makes of these options is tested by {@code gpu remake}. */
class ContainerOptionsTest {
    private static JsonNode container(String host) throws Exception {
        return new ObjectMapper()
                .readTree("{'HostConfig': {%s}}".formatted(host).replace('\'', '"'));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "'PortBindings': {'80/tcp': [{'HostIp': '::1', 'HostPort': '8080'}]} |"
                        + " --publish=[::1]:8080:80/tcp",
                "'PortBindings': {'80/tcp': [{'HostIp': '', 'HostPort': ''}]} | --publish=80/tcp",
                "'NanoCpus': 1500000000 | --cpus=1.5",
                "'MemorySwappiness': 0 | --memory-swappiness=0",
                "'Init': false | --init=false",
                "'Links': ['/db:/train/data'] | --link=db:data",
                "'MaskedPaths': [], 'ReadonlyPaths': [] | --security-opt=systempaths=unconfined",
                "'BlkioDeviceReadBps': [{'Path': '/dev/sda', 'Rate': 7}] |"
                        + " --device-read-bps=/dev/sda:7",
                "'DeviceRequests': [{'Driver': 'cdi', 'DeviceIDs': ['vendor.com/net=a']}] |"
                        + " --device=vendor.com/net=a",
                "'Mounts': [{'Type': 'bind', 'Source': '/a,b', 'Target': '/c', 'ReadOnly': true,"
                        + " 'BindOptions': {'Propagation': 'rslave'}}] |"
                        + " --mount=type=bind,dst=/c,\"src=/a,b\",readonly,bind-propagation=rslave",
                "'Mounts': [{'Type': 'tmpfs', 'Target': '/t', 'TmpfsOptions': {'Mode': 511}}] |"
                        + " --mount=type=tmpfs,dst=/t,tmpfs-mode=777",
            })
    void settingIsRepeatedByItsOption(String host, String option) throws Exception {
        assertEquals(List.of(option), ContainerOptions.of(container(host)));
    }

    /**
     * All that `jnvdocker run` and `docker run --gpus` have added is added to the new container
     * again.
     */
    @Test
    void gpusAreLeftOut() throws Exception {
        String host =
                "'Devices': [{'PathOnHost': '/dev/nvidia0'}, {'PathInContainer':"
                    + " '/dev/nvidiactl'}],'DeviceRequests': [{'Count': 1, 'Capabilities':"
                    + " [['gpu']]}], 'Binds': ['nvidia_driver_535:/usr/local/nvidia:ro'], 'Mounts':"
                    + " [{'Type': 'volume', 'Source': 'jnvdocker_claim_0123456789ab-"
                        + "0".repeat(32)
                        + "', 'Target':"
                        + " '/run/jnvdocker'}]";
        assertEquals(List.of(), ContainerOptions.of(container(host)));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "'NewSetting': 1 | HostConfig.NewSetting '1'",
                "'SecurityOpt': ['seccomp={}'] | a seccomp profile '\"seccomp={}\"'",
                "'DeviceRequests': [{'Driver': 'tpu'}] | HostConfig.DeviceRequests '{",
                "'Mounts': [{'Type': 'bind', 'BindOptions': {'New': true}}] |"
                        + " HostConfig.Mounts.BindOptions.New 'true'",
            })
    void settingThatNoOptionRepeatsIsNotLost(String host, String setting) throws Exception {
        String refusal =
                assertThrows(RefusedException.class, () -> ContainerOptions.of(container(host)))
                        .getMessage();
        assertTrue(
                refusal.startsWith("a setting of the container cannot be repeated: " + setting),
                refusal);
    }
}
