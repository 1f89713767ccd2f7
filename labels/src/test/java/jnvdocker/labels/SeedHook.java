package jnvdocker.labels;

import net.jqwik.api.lifecycle.AroundPropertyHook;
import net.jqwik.api.lifecycle.PropagationMode;
import net.jqwik.api.lifecycle.PropertyExecutionResult;
import net.jqwik.api.lifecycle.PropertyExecutor;
import net.jqwik.api.lifecycle.PropertyLifecycleContext;

/** Tries every property with each of its {@link Seeds}, and names the seed that failed. */
public final class SeedHook implements AroundPropertyHook {
    @Override
    public PropagationMode propagateTo() {
        return PropagationMode.ALL_DESCENDANTS;
    }

    @Override
    public int aroundPropertyProximity() {
        return Integer.MAX_VALUE;
    }

    @Override
    public PropertyExecutionResult aroundProperty(
            PropertyLifecycleContext context, PropertyExecutor property) {
        String name =
                context.containerClass().getSimpleName() + "#" + context.targetMethod().getName();
        String own = context.attributes().seed().orElse("1");
        PropertyExecutionResult result = null;
        for (String seed : Seeds.of(name, own)) {
            context.attributes().setSeed(seed);
            result = property.execute();
            if (result.status() != PropertyExecutionResult.Status.SUCCESSFUL) {
                System.out.println(name + " failed with SEED=" + seed);
                return result;
            }
            System.out.println(name + ": " + result.countChecks() + " tries with SEED=" + seed);
        }
        return result;
    }
}
