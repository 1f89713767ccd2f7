package jnvdocker.request;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

@Attack(
        by = "a fault",
        what = "ids twice, empty, `all`",
        result = "one that is named twice is refused")
final class GpuRequestTest {
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "all | all",
                "none | none",
                "2 | 2",
                "+2 | 2",
                "0 | none",
                "-1 | all",
                "-2 | all",
                "count=2 | 2",
                "count=all | all",
                "count=-1 | all",
                "device=0 | device=0",
                "\"device=0,1\" | \"device=0,1\"",
                "device=0,1 | \"device=0,1\"",
                "device=1,0,1 | \"device=1,0,1\"",
                "\"device=0, 1\" | \"device=0,1\"",
                "device=GPU-8dcd427f | device=GPU-8dcd427f",
                "device=00000000:07:00.0 | device=00000000:07:00.0",
                "device=0:1 | device=0:1",
                "device=all | all",
                "device=none | none",
                "capabilities=utility | 1",
                "all,capabilities=gpu | all",
                "\"capabilities=compute,utility\",\"device=0,1\" | \"device=0,1\"",
                "driver=nvidia,count=2 | 2",
                "driver=,2 | 2",
                "2,\"options=a=b,c=d\" | 2",
                "device=0,1,driver=nvidia | \"device=0,1\"",
                "count=2,memory=40G | count=2,memory=40G",
                "with=train-7 | with=train-7",
                "with=0123456789ab,capabilities=compute | with=0123456789ab",
                "2,memory=40gb | count=2,memory=40G",
                "memory=81559mib | count=1,memory=81559MiB",
                "memory=80Gi | count=1,memory=80GiB",
                "share=10G | count=1,share=10G",
                "share=10gib,2,model=A100 | count=2,model=A100,share=10GiB",
                "\"model= GeForce RTX 3090 \",count=3 | count=3,model=GeForce RTX 3090",
                "model=a100,memory=500M,driver=nvidia | count=1,memory=500M,model=a100",
            })
    void optionIsReadAsDockerReadsIt(String value, String request) throws Exception {
        assertEquals(request, GpuRequest.parseOption(value).toString());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "device=0,1",
                "\"device=0,1\"",
                "\"device=GPU-a\",driver=nvidia",
                "all",
                "3",
                "none",
                "count=2,memory=40G,model=A100",
                "with=train_7.b",
                "memory=999999GiB",
                "count=2,memory=40G,model=A100,share=10G",
                "2,model=RTX 6000 Ada"
            })
    void spellingOfARequestIsReadBack(String value) throws Exception {
        GpuRequest request = GpuRequest.parseOption(value);
        assertEquals(request, GpuRequest.parseOption(request.toString()));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "two | 'two' is not a number of GPUs: write a number, 'all', 'none' or"
                        + " device=<ids>",
                "GPU-a | 'GPU-a' is not a number of GPUs: write a number, 'all', 'none' or"
                        + " device=<ids>",
                "12345678901 | '12345678901' is not a number of GPUs:",
                "٢ | '٢' is not a number of GPUs:",
                "2.0 | '2.0' is not a number of GPUs:",
                "count= | '' is not a number of GPUs:",
                "`` | a value is missing:",
                "`,` | ',' is more than one number of GPUs:",
                "0,1 | '0,1' is more than one number of GPUs: write",
                "2,count=2 | 'count' is given more than once in '2,count=2': give it once",
                "device=0,device=1 | 'device' is given more than once",
                "2,device=0 | '2,device=0' has both a number of GPUs and names of GPUs:",
                "device= | names no GPU: write for example --gpus '\"device=0,1\"'",
                "device=all,0 | 'all' cannot be combined with ids:",
                "device=0,none | 'none' cannot be combined with ids:",
                "device=a/b | 'a/b' is not a GPU's index, UUID or PCI address,",
                "device=\"0,1\" | quotes in 'device=\"0,1\"' must go round a whole field,",
                "\"device=0,1 | quotes in '\"device=0,1' must go round a whole field,",
                "driver=cdi | driver='cdi' cannot be given with a lease:",
                "1,capabilities=tpu | 'tpu' is not a capability: there are compat32, compute,",
                "1,capabilities= | '' is not a capability:",
                "devices=0 | unknown key 'devices', not one of count, memory,",
                "2,with=train-7 | with in '2,with=train-7' means all GPUs of that container:",
                "with=train-7,device=0 | with in 'with=train-7,device=0' means all GPUs",
                "with=train-7,memory=40G | with in 'with=train-7,memory=40G' means all GPUs",
                "with= | with='' is not the name of a container:",
                "with=a b | with='a b' is not the name of a container:",
                "memory=40 | memory='40' is not an amount of memory: write a number from 1 to"
                        + " 999999 and M, G, MiB or GiB, as in memory=40G",
                "memory= | memory='' is not an amount",
                "memory=0G | memory='0G' is not an amount",
                "memory=1.5G | memory='1.5G' is not an amount",
                "memory=-1G | memory='-1G' is not an amount",
                "memory=1000000M | memory='1000000M' is not an amount",
                "memory=40T | memory='40T' is not an amount",
                "share=10 | share='10' is not an amount of memory: write a number from 1 to",
                "share=255MiB | share='255MiB' is less than the smallest share: write 256MiB or"
                        + " more",
                "count=2,share=1M | share='1M' is less than the smallest share: write 256MiB",
                "share=1G,share=2G | 'share' is given more than once",
                "all,share=10G | memory, model and share in 'all,share=10G' need a number of GPUs:",
                "device=0,share=10G | memory, model and share in 'device=0,share=10G' cannot be",
                "with=train-7,share=10G | with in 'with=train-7,share=10G' means all GPUs",
                "model= | model='' is not a part of a model's name: write one",
                "model=a*b | model='a*b' is not a part",
                "memory=1G,memory=2G | 'memory' is given more than once",
                "\"memory=1G,2\" | memory='1G,2' is not an amount",
                "all,memory=40G | memory, model and share in 'all,memory=40G' need a number of"
                        + " GPUs:",
                "count=0,model=A100 | memory, model and share in 'count=0,model=A100' need a"
                        + " number",
                "-1,model=A100 | memory, model and share in '-1,model=A100' need a number",
                "device=0,model=A100 | memory, model and share in 'device=0,model=A100' cannot be"
                        + " combined with the names of GPUs:",
                "=1 | unknown key '',",
            })
    void wrongOptionSaysWhatIsWrong(String value, String message) {
        String actual = message(() -> GpuRequest.parseOption(value));
        assertTrue(actual.startsWith("--gpus: " + message), actual);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "0 | device=0",
                "`0 1` | \"device=0,1\"",
                "0,1 | \"device=0,1\"",
                "` 2,, 0,2 ` | \"device=2,0,2\"",
                "0-2,5 | \"device=0,1,2,5\"",
                "3-3 | device=3",
                "2-1 | device=2-1",
                "0-256 | device=0-256",
                "GPU-a,07:00.0 | \"device=GPU-a,07:00.0\"",
                "all | all",
                "none | none",
            })
    void variableNamesGpus(String value, String request) throws Exception {
        assertEquals(
                Optional.of(request), GpuRequest.parseVariable(value).map(GpuRequest::toString));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "runtime.nvidia.com/gpu=all | all",
                "nvidia.com/gpu=none | none",
                "nvidia.com/gpu=0,nvidia.com/gpu=1 | \"device=0,1\"",
                "runtime.nvidia.com/gpu=GPU-a,2-3 | \"device=GPU-a,2,3\"",
                "`0, 1` | \"device=0,1\"",
                "-1 | device=-1",
            })
    void visibleDevicesMayBeNamesOfCdi(String value, String request) throws Exception {
        assertEquals(
                Optional.of(request),
                GpuRequest.parseVisibleDevices(value).map(GpuRequest::toString));
    }

    @ParameterizedTest
    @ValueSource(strings = {"0 1", "nvidia.com/mig=0", "all,nvidia.com/gds=0", "0,,1"})
    void otherVisibleDevicesAreRefused(String value) {
        assertTrue(
                message(() -> GpuRequest.parseVisibleDevices(value))
                        .contains("does not name GPUs"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", ",", " , "})
    void emptyVariableIsNotSet(String value) throws Exception {
        assertEquals(Optional.empty(), GpuRequest.parseVariable(value));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "all,0 | 'all' cannot be combined with ids: write it alone, or ids as in"
                        + " NV_GPU=0,1",
                "device=0 | 'device=0' is not a GPU's index, UUID or PCI address, as in NV_GPU=0,1",
            })
    void wrongVariableSaysWhatIsWrong(String value, String message) {
        assertEquals("NV_GPU: " + message, message(() -> GpuRequest.parseVariable(value)));
    }

    @Test
    void idsAreBounded() throws Exception {
        String longest = "a".repeat(64);
        assertEquals(
                new GpuRequest.Devices(List.of(longest)),
                GpuRequest.parseOption("device=" + longest));
        assertThrows(
                InvalidGpuRequestException.class,
                () -> GpuRequest.parseOption("device=" + longest + "a"));
        assertTrue(GpuRequest.parseVariable(ids(256)).isPresent());
        assertEquals(
                GpuRequest.parseVariable(ids(256)), GpuRequest.parseVisibleDevices("0-99,100-255"));
        String most = "NV_GPU: 512 GPUs are named, at most 256 can be; name fewer";
        assertEquals(most, message(() -> GpuRequest.parseVariable("0-255,0-255")));
        assertEquals(
                "NV_GPU: 257 GPUs are named, at most 256 can be; name fewer",
                message(() -> GpuRequest.parseVariable(ids(257))));
    }

    @Test
    void messageIsShortAndHasNothingThatATerminalObeys() {
        String message = message(() -> GpuRequest.parseOption("\u001b[2J\ud800" + "x".repeat(500)));
        assertTrue(message.startsWith("--gpus: '\\u{1b}[2J\\u{d800}xxx"), message);
        assertTrue(message.length() < 200, message);
    }

    private static String ids(int count) {
        return IntStream.range(0, count)
                .mapToObj(Integer::toString)
                .collect(Collectors.joining(","));
    }

    private static String message(Executable parse) {
        return assertThrows(InvalidGpuRequestException.class, parse).getMessage();
    }
}
