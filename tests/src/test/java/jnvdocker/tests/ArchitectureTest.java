package jnvdocker.tests;

import static com.tngtech.archunit.library.Architectures.layeredArchitecture;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.syntax.ArchRuleDefinition;

import org.junit.jupiter.api.Test;

class ArchitectureTest {
    private static final JavaClasses OURS =
            new ClassFileImporter()
                    .withImportOption(new ImportOption.DoNotIncludeTests())
                    .importPackages("jnvdocker");

    @Test
    void packagesFormNoCycle() {
        slices().matching("jnvdocker.(**)").should().beFreeOfCycles().check(OURS);
    }

    @Test
    void dockerKnowsContainersAndContainersKnowNoEngine() {
        layeredArchitecture()
                .consideringOnlyDependenciesInLayers()
                .layer("daemon")
                .definedBy("jnvdocker.daemon")
                .layer("command")
                .definedBy("jnvdocker.command")
                .layer("docker")
                .definedBy("jnvdocker.docker")
                .layer("container")
                .definedBy("jnvdocker.container")
                .whereLayer("daemon")
                .mayNotBeAccessedByAnyLayer()
                .whereLayer("command")
                .mayOnlyBeAccessedByLayers("daemon")
                .whereLayer("docker")
                .mayOnlyBeAccessedByLayers("command", "daemon")
                .check(OURS);
    }

    @Test
    void namesOfCStopAtTheBinding() {
        ArchRuleDefinition.noClasses()
                .that()
                .resideOutsideOfPackages("jnvdocker.posix", "jnvdocker.cuda")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("com.sun.jna..", "jnr..")
                .check(OURS);
    }
}
