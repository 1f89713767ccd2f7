package jnvdocker.volume.files;

import jnvdocker.volume.files.DriverFiles.DriverFile;
import jnvdocker.volume.files.LibraryName.Owner;

import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;

/** A library that belongs to the driver, under the name it gets in the volume. */
record ChosenLibrary(FoundLibrary library, String name, Owner owner, ElfCheck.Fit fit) {
    Directory directory() {
        return fit.directory();
    }

    String path() {
        return library.path();
    }

    int place() {
        return library.place();
    }

    Optional<String> soname() {
        return fit.elf().soname();
    }

    SortedMap<String, Integer> cacheNames() {
        return library.cacheNames();
    }

    Set<String> linkNames() {
        return library.linkNames();
    }

    boolean collidesWith(ChosenLibrary other) {
        return directory() == other.directory() && name.equals(other.name());
    }

    /** Why another one that would answer to the same name is left out. */
    Reason taken() {
        return new Reason.Fault("the loader takes " + path() + " instead");
    }

    DriverFile toFile() {
        return new DriverFile(directory(), name, path(), fit.size());
    }
}
