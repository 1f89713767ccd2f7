package jnvdocker.mesos.launch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Set;

class LaunchInfoTest {
    @ParameterizedTest
    @ValueSource(
            strings = {
                "{}",
                "{\"a\":[1,2.50,-3,1E+400,12345678901234567890,true,null,\"\\u0000é\"]}",
                "{\"mounts\":[{\"flags\":20481}],\"working_directory\":\"/mnt\"}",
            })
    void unchangedPartsStayAsTheyAre(String json) throws IOException {
        assertEquals(json, LaunchInfo.parse(json).toString());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "[]", "null", "1", "{", "{\"a\":}", "{} x"})
    void textThatIsNoObjectIsNoLaunchInfo(String json) {
        assertThrows(IOException.class, () -> LaunchInfo.parse(json));
    }

    @Test
    void tooManyVariablesAreRefused() {
        String json =
                "{\"environment\":{\"variables\":["
                        + "{\"name\":\"a\",\"value\":\"\"},".repeat(50_000)
                        + "{}]}}";
        var error = assertThrows(IOException.class, () -> LaunchInfo.parse(json));
        assertTrue(error.getMessage().contains("more than 524288 bytes"), error::getMessage);
    }

    @Test
    void lastOfAVariablesValuesCounts() throws IOException {
        LaunchInfo info =
                LaunchInfo.parse(
                        """
                        {"environment":{"variables":[{"name":"A","value":"1"},
                        {"name":"B","type":"VALUE","value":"2"},{"name":"A","value":"3"}]}}
                        """);
        assertEquals(Map.of("A", "3", "B", "2"), info.environment());
        info.setEnvironment(Map.of("A", "4"));
        info.setEnvironment(Map.of("C", "5"));
        assertEquals(
                "{\"environment\":{\"variables\":[{\"name\":\"A\",\"value\":\"1\"},"
                        + "{\"name\":\"B\",\"type\":\"VALUE\",\"value\":\"2\"},"
                        + "{\"name\":\"A\",\"value\":\"4\",\"type\":\"VALUE\"},"
                        + "{\"name\":\"C\",\"type\":\"VALUE\",\"value\":\"5\"}]}}",
                info.toString());
    }

    @Test
    void executorGetsTheTasksEnvironment() throws IOException {
        LaunchInfo info =
                LaunchInfo.parse(
                        """
                        {"command":{"arguments":["mesos-executor",
                        "--task_environment={\\"variables\\":[{\\"name\\":\\"A\\",\\"value\\":\\"1\\"}]}",
                        "--rootfs=/r"]}}
                        """);
        assertEquals(Map.of("A", "1"), info.taskEnvironment());
        info.setTaskEnvironment(Map.of("A", "x\"y"));
        assertEquals(Map.of("A", "x\"y"), LaunchInfo.parse(info.toString()).taskEnvironment());
        assertTrue(info.toString().contains("\"--rootfs=/r\""), info::toString);
    }

    @Test
    void executorWithoutAnEnvironmentGetsOne() throws IOException {
        LaunchInfo info = LaunchInfo.parse("{\"command\":{\"arguments\":[\"mesos-executor\"]}}");
        assertEquals(Map.of(), info.taskEnvironment());
        info.setTaskEnvironment(Map.of());
        assertEquals("{\"command\":{\"arguments\":[\"mesos-executor\"]}}", info.toString());
        info.setTaskEnvironment(Map.of("A", "1"));
        assertEquals(Map.of("A", "1"), LaunchInfo.parse(info.toString()).taskEnvironment());
    }

    @Test
    void taskEnvironmentThatIsNoneIsAnError() throws IOException {
        LaunchInfo info =
                LaunchInfo.parse("{\"command\":{\"arguments\":[\"--task_environment=7\"]}}");
        assertThrows(IOException.class, info::taskEnvironment);
    }

    @Test
    void preExecCommandIsTheLast() throws IOException {
        LaunchInfo info = LaunchInfo.parse("{\"pre_exec_commands\":[{\"value\":\"first\"}]}");
        info.appendPreExecCommand("/x/p", List.of("p", "a b"));
        assertEquals(
                "{\"pre_exec_commands\":[{\"value\":\"first\"},{\"shell\":false,\"value\":\"/x/p\","
                        + "\"arguments\":[\"p\",\"a b\"]}]}",
                info.toString());
    }

    @Test
    void mountsOutsideOfTheRootAreNotTheContainers() throws IOException {
        LaunchInfo info =
                LaunchInfo.parse(
                        """
                        {"mounts":[{"target":"/r/usr/local/nvidia"},{"target":"/rx/y"},{},
                        {"target":"/r"},{"target":7}]}
                        """);
        assertEquals(Set.of("/usr/local/nvidia"), info.mountTargets("/r"));
    }

    @Test
    void defaultExecutorIsKnownByItsName() throws IOException {
        assertTrue(executor("/usr/libexec/mesos/mesos-default-executor").isDefaultExecutor());
        assertTrue(executor("mesos-default-executor").isDefaultExecutor());
        assertFalse(executor("/usr/libexec/mesos/mesos-executor").isDefaultExecutor());
        assertFalse(executor("/x/my-mesos-default-executor").isDefaultExecutor());
        assertFalse(LaunchInfo.parse("{}").isDefaultExecutor());
    }

    private static LaunchInfo executor(String value) throws IOException {
        return LaunchInfo.parse("{\"command\":{\"value\":\"" + value + "\"}}");
    }
}
