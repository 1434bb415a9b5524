import io.trino.spi.Plugin;
import io.trino.spi.security.GroupProviderFactory;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;

/** A group provider that reads `group:user,user` lines, as the engine's own of the name `file` does, which is not published as a jar. */
public final class Groups
        implements Plugin
{
    @Override
    public Iterable<GroupProviderFactory> getGroupProviderFactories()
    {
        return List.of(new Factory());
    }

    private static final class Factory
            implements GroupProviderFactory
    {
        @Override
        public String getName()
        {
            return "file";
        }

        @Override
        public io.trino.spi.security.GroupProvider create(java.util.Map<String, String> config)
        {
            List<String> lines = read(Path.of(config.get("file.group-file")));
            return user -> lines.stream()
                    .map(line -> line.split(":", 2))
                    .filter(line -> List.of(line[1].split(",")).contains(user))
                    .map(line -> line[0])
                    .collect(Collectors.toCollection(java.util.TreeSet::new));
        }

        private static List<String> read(Path file)
        {
            try {
                return Files.readAllLines(file);
            }
            catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
