package jnvdocker.volume.files;

import jnvdocker.labels.DriverVersion;
import jnvdocker.volume.files.DriverFiles.DriverFile;
import jnvdocker.volume.files.DriverFiles.DriverLink;
import jnvdocker.volume.files.DriverFiles.LeftOut;
import jnvdocker.volume.files.LibraryName.Owner;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Decides which of the libraries found belong to the driver. Notes why others do not. */
final class DriverSelection {
    /** The one ABI of thread-local storage that kernels since 2003 speak. */
    private static final String TLS_ABI = "2.3.99";

    private static final int MAX_NAMES_IN_TEXT = 4;

    private final DriverVersion driver;
    private final Machine machine;
    private final List<ChosenLibrary> chosen = new ArrayList<>();
    private final List<LeftOut> leftOut = new ArrayList<>();

    DriverSelection(DriverVersion driver, Machine machine) {
        this.driver = driver;
        this.machine = machine;
    }

    void leaveOut(String path, Reason reason) {
        leftOut.add(new LeftOut(path, reason));
    }

    void judge(FoundLibrary library) {
        String name = nameInVolume(library);
        LibraryName parsed = LibraryName.parse(name);
        Owner owner = parsed.owner(driver);
        switch (owner) {
            case UNRELATED -> {}
            case OTHER_DRIVER -> leaveOut(library.path(), new Reason.OtherDriver(parsed.version()));
            case X_SERVER -> leaveOut(library.path(), Reason.Rule.X_SERVER);
            case SETTINGS -> leaveOut(library.path(), Reason.Rule.SETTINGS);
            case DRIVER, OWN_VERSION, GL -> {
                if (library.path().contains("/xorg/")) {
                    leaveOut(library.path(), Reason.Rule.X_SERVER);
                } else {
                    inspect(library, name, owner);
                }
            }
        }
    }

    /** The paths of the libraries that would have that name in that directory of the volume. */
    List<String> chosen(Directory directory, String name) {
        return chosen.stream()
                .filter(library -> library.directory() == directory && library.name().equals(name))
                .map(ChosenLibrary::path)
                .toList();
    }

    /** The directories of the host that libraries were taken from, sorted. */
    SortedSet<String> directories() {
        return chosen.stream()
                .map(library -> Path.of(library.path()).getParent().toString())
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** Path and reason of the files that were left out under that name, at most a few. */
    List<String> leftOutNamed(String name) {
        return leftOut.stream()
                .filter(left -> left.path().endsWith("/" + name))
                .limit(MAX_NAMES_IN_TEXT)
                .map(left -> left.path() + ": " + left.reason().words())
                .toList();
    }

    DriverFiles with(ProgramSearch programs, GraphicsSearch graphics) {
        LinkNames names = new LinkNames(driver, withoutDoubles());
        List<ChosenLibrary> kept = names.kept();
        names.leftOut().forEach(leftOut::add);
        List<DriverLink> links = names.links();
        Stream<DriverFile> libraries = kept.stream().map(ChosenLibrary::toFile);
        return new DriverFiles(
                driver,
                Stream.concat(libraries, programs.programs().stream()).toList(),
                links,
                graphics.files(),
                Stream.of(leftOut, programs.leftOut(), graphics.leftOut())
                        .flatMap(List::stream)
                        .toList());
    }

    /**
     * The name that a library gets. If its own name says nothing, a link that leads to it may have
     * the driver's version.
     */
    private String nameInVolume(FoundLibrary library) {
        if (LibraryName.parse(library.name()).owner(driver) != Owner.UNRELATED) {
            return library.name();
        }
        return library.linkNames().stream()
                .filter(name -> LibraryName.parse(name).owner(driver) == Owner.DRIVER)
                .findFirst()
                .orElse(library.name());
    }

    private void inspect(FoundLibrary library, String name, Owner owner) {
        switch (ElfCheck.of(library.file(), machine)) {
            case ElfCheck.Fit fit -> {
                if (isNamedAfterDriver(name, owner) || isLinkedToDriver(fit.elf())) {
                    objection(fit.elf(), name)
                            .ifPresentOrElse(
                                    reason -> leaveOut(library.path(), reason),
                                    () -> chosen.add(new ChosenLibrary(library, name, owner, fit)));
                }
            }
            case ElfCheck.Unfit unfit -> {
                if (isNamedAfterDriver(name, owner)) {
                    leaveOut(library.path(), new Reason.Fault(unfit.reason()));
                }
            }
        }
    }

    private Optional<Reason> objection(ElfFile elf, String name) {
        Optional<String> alien = elf.soname().filter(this::isOfAnotherDriver);
        if (alien.isPresent()) {
            return alien.<Reason>map(soname -> new Reason.Fault("names itself " + soname));
        }
        if (name.startsWith("libnvidia-tls.")) {
            return elf.abi()
                    .filter(abi -> !abi.equals(TLS_ABI))
                    .<Reason>map(Reason.OtherThreading::new);
        }
        return Optional.empty();
    }

    private boolean isLinkedToDriver(ElfFile elf) {
        return elf.needed().stream().anyMatch(this::isOfDriver);
    }

    private boolean isOfDriver(String library) {
        return switch (LibraryName.parse(library).owner(driver)) {
            case DRIVER -> true;
            case OWN_VERSION, GL, X_SERVER, SETTINGS, OTHER_DRIVER, UNRELATED -> false;
        };
    }

    private boolean isOfAnotherDriver(String library) {
        return LibraryName.parse(library).owner(driver) == Owner.OTHER_DRIVER;
    }

    /**
     * Before GLVND a driver's own GL linked to nothing of the driver's, and had its version.
     * Another vendor's GL is none of ours, so nothing is said of it.
     */
    private boolean isNamedAfterDriver(String name, Owner owner) {
        return owner != Owner.GL || name.endsWith(".so." + driver);
    }

    /** The libraries without those of a name that the loader finds elsewhere first. */
    private List<ChosenLibrary> withoutDoubles() {
        List<ChosenLibrary> kept = new ArrayList<>();
        List<ChosenLibrary> byPlace =
                chosen.stream()
                        .sorted(
                                Comparator.comparingInt(ChosenLibrary::place)
                                        .thenComparing(ChosenLibrary::path))
                        .toList();
        for (ChosenLibrary library : byPlace) {
            Optional<ChosenLibrary> first =
                    kept.stream().filter(other -> other.collidesWith(library)).findFirst();
            if (first.isEmpty()) {
                kept.add(library);
            } else {
                leaveOut(library.path(), first.get().taken());
            }
        }
        return kept;
    }
}
